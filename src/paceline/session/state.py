"""What a script can ask: the strategy, its rank, whether it is the chief."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class State:
    """This process's place in its job.

    Attributes:
        strategy: The job's strategy.
        rank: This worker's rank.
        num_workers: Number of workers.
    """

    strategy: Any
    rank: int
    num_workers: int


_current: list[State] = []


def enter(state: State) -> None:
    """Says what this process is. Once, before the script."""
    _current[:] = [state]


def current() -> State | None:
    """Returns this process's place in its job, None outside of one."""
    return _current[0] if _current else None


def strategy() -> Any:
    """Returns the job's strategy, a `tf.distribute.Strategy`; without a job, one over this process's devices.

    Called by every worker. Collective: no.
    """
    if not _current:
        from paceline.session.alone import start_alone

        enter(start_alone())
    return _current[0].strategy


def rank() -> int:
    """Returns this worker's rank, 0 without a job. Collective: no."""
    return _current[0].rank if _current else 0


def num_workers() -> int:
    """Returns the number of workers of the job, 1 without one. Collective: no."""
    return _current[0].num_workers if _current else 1


def is_chief() -> bool:
    """Returns whether this worker is the one that writes files of the script's own. Collective: no.

    A plain `open(path, "w")` in a script runs on every worker; put it under `if paceline.is_chief():`.
    """
    return rank() == 0
