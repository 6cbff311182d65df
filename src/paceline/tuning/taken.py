"""Which tuning of RING a job takes, and why. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from paceline.tuning.cache import Found
from paceline.tuning.ring import RingTuning


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What a job takes.

    Attributes:
        is_fallback: Something that was measured is not used; a person should see why.
    """

    tuning: RingTuning
    reason: str
    is_fallback: bool = False


def take(asked: RingTuning | None, found: Found | None, *, num_workers: int, num_gpus: int) -> Taken:
    """Returns how RING moves a buffer: as asked, else as measured, else the default.

    Args:
        asked: What ``paceline tune`` wants to measure.
        found: What the cache says for so many workers.
        num_workers: Workers of the job.
        num_gpus: GPUs of the job; only buffers of CPUs are measured.
    """
    if asked is not None:
        return Taken(tuning=asked, reason="asked for by paceline tune")
    measure = f"paceline tune --workers {num_workers} measures it"
    if num_gpus:
        return Taken(
            tuning=RingTuning(), reason="default; paceline tune measures buffers of CPUs, and this job has GPUs"
        )
    if found is None:
        return Taken(tuning=RingTuning(), reason=f"default; not measured here; {measure}")
    if found.choice is None:
        reason = f"default; {found.path} is ignored: {found.fault}; {measure} anew"
        return Taken(tuning=RingTuning(), reason=reason, is_fallback=True)
    command = "paceline tune --quick" if found.is_quick else "paceline tune"
    return Taken(tuning=found.choice.tuning, reason=f"measured by {command} on {found.date}: {found.choice.reason}")
