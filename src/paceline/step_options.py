"""How a training step computes and communicates: one frozen value, from the command line or from a script."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from paceline.errors import UsageError

CommunicationName = Literal["auto", "nccl", "ring", "mpi", "hierarchical", "one-device"]
WireName = Literal["float32", "bfloat16", "float16"]
JitName = Literal["auto", "on", "off"]

COMMUNICATIONS: tuple[str, ...] = get_args(CommunicationName)
WIRES: tuple[str, ...] = get_args(WireName)
JITS: tuple[str, ...] = get_args(JitName)

BETWEEN_PROCESSES = ("nccl", "ring", "mpi")
"""Transports between workers."""
IN_ONE_PROCESS = ("nccl", "hierarchical", "one-device")
"""Ways in which replicas of one process are summed."""

LEAST_BUCKET_MB = 2.0**-20
"""One byte: each gradient by itself."""
MOST_BUCKET_MB = 2.0**20
"""One TiB: what no model has."""


@dataclass(frozen=True, kw_only=True)
class StepOptions:
    """What may be chosen about a step; a script gives it to ``paceline.strategy(options)``.

    Attributes:
        communication: How replicas are summed. Between workers ``nccl``, ``ring`` or ``mpi``; in one process
            ``nccl``, ``hierarchical`` or ``one-device``. It is fixed when a job starts: a script that is run by
            ``paceline run`` chooses it on the command line.
        wire_dtype: What gradients travel as between workers. Sums are taken in float32 where the transport can.
        bucket_mb: Gradients are summed in pieces of about so many MiB, the last layers' first, so that summing
            begins before the backward pass has ended; 0: in one piece.
        jit: Whether XLA compiles forward pass, backward pass and update. ``auto``: where it helps.

    Raises:
        UsageError: A value is not one of these.

    >>> StepOptions(wire_dtype="bfloat16").jit
    'auto'
    """

    communication: str = "auto"
    wire_dtype: str = "float32"
    bucket_mb: float = 0.0
    jit: str = "auto"

    def __post_init__(self) -> None:
        for option, value, known in (
            ("--communication", self.communication, COMMUNICATIONS),
            ("--wire-dtype", self.wire_dtype, WIRES),
            ("--jit", self.jit, JITS),
        ):
            if not isinstance(value, str) or value not in known:
                name = option.strip("-").replace("-", "_")
                raise UsageError(
                    f"{option} has no such value",
                    got=f"{option} {value}" if isinstance(value, str) else f"{name}={value!r}",
                    expected=" | ".join(known),
                    fix=f"{option} {known[0]}   or, in a script,   paceline.StepOptions({name}={known[0]!r})",
                )
        if not _is_size(self.bucket_mb):
            raise UsageError(
                "buckets have a size",
                got=f"--bucket-mb {self.bucket_mb}",
                expected=f"0 (one piece), or a number from {LEAST_BUCKET_MB:g} to {MOST_BUCKET_MB:g}",
                fix="--bucket-mb 25   or, in a script,   paceline.StepOptions(bucket_mb=25)",
            )

    @property
    def bucket_bytes(self) -> int:
        """Size of a bucket in bytes; 0: no limit."""
        return int(self.bucket_mb * 2**20)


def _is_size(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return value == 0 or LEAST_BUCKET_MB <= value <= MOST_BUCKET_MB
