"""All known lines, by family, and the one function that looks a line up."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType

from paceline.failures import (
    cuda,
    data,
    disk,
    keras,
    kubernetes,
    memory,
    mpi,
    nccl,
    network,
    ours,
    peers,
    python,
    slurm,
    system,
    tensorflow,
    tpu,
)
from paceline.failures.row import Row

FAMILIES: Mapping[str, tuple[Row, ...]] = MappingProxyType(
    {
        "paceline": ours.ROWS,
        "slurm": slurm.ROWS,
        "kubernetes": kubernetes.ROWS,
        "nccl": nccl.ROWS,
        "memory": memory.ROWS,
        "cuda": cuda.ROWS,
        "disk": disk.ROWS,
        "tpu": tpu.ROWS,
        "mpi": mpi.ROWS,
        "peers": peers.ROWS,
        "tensorflow": tensorflow.ROWS,
        "keras": keras.ROWS,
        "data": data.ROWS,
        "network": network.ROWS,
        "system": system.ROWS,
        "python": python.ROWS,
    }
)
"""In the order in which a line is looked up: the first row that knows it counts."""

LONGEST_LINE = 4096
"""Characters of a line that are looked at."""


@functools.cache
def _rows() -> tuple[Row, ...]:
    rows = [row for family in FAMILIES.values() for row in family]
    return (*(row for row in rows if not row.is_general), *(row for row in rows if row.is_general))


@functools.cache
def _families() -> Mapping[str, str]:
    return {row.name: family for family, rows in FAMILIES.items() for row in rows}


def family_of(row: Row) -> str:
    """Returns the family that a row is of."""
    return _families()[row.name]


def find(line: str) -> Row | None:
    """Returns the row that knows a line, or ``None``.

    Args:
        line: One line, without a prefix that names its worker, and without colours.

    >>> find("OSError: [Errno 28] No space left on device").name
    'disk-full'
    >>> find("Epoch 1/3") is None
    True
    """
    line = line[:LONGEST_LINE]
    return next((row for row in _rows() if row.search(line)), None)
