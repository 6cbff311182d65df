"""This machine alone: what is true where nobody describes a cluster."""

from __future__ import annotations

from collections.abc import Mapping

from paceline.cluster.spec import ClusterSpec, Member, Task

DEVICES_VARIABLE = "CUDA_VISIBLE_DEVICES"


def present(environ: Mapping[str, str]) -> bool:
    """Returns True: this machine is always there."""
    del environ
    return True


def describe(environ: Mapping[str, str]) -> ClusterSpec:
    """Returns a cluster of one worker without an address."""
    task = Task(role="worker", index=0)
    sources = {"cluster": "this machine", "task": "this machine"}
    devices = devices_in(environ)
    if devices is not None:
        sources["devices"] = DEVICES_VARIABLE
    return ClusterSpec(members=(Member(task=task, address=""),), task=task, devices=devices, sources=sources)


def devices_in(environ: Mapping[str, str]) -> tuple[str, ...] | None:
    """Returns the ids that CUDA_VISIBLE_DEVICES allows, or None where it is not set.

    >>> devices_in({"CUDA_VISIBLE_DEVICES": "2, 3"}), devices_in({"CUDA_VISIBLE_DEVICES": ""}), devices_in({})
    (('2', '3'), (), None)
    """
    value = environ.get(DEVICES_VARIABLE)
    return None if value is None else tuple(part.strip() for part in value.split(",") if part.strip())
