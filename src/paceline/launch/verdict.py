"""What the ends and silences of workers mean. Pure functions over what was seen."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paceline.journal.events import Event
from paceline.journal.status import Phase, Status

# How long workers may sit in a collective after a peer has ended its script.
END_LIMIT_S = 10.0
# How long workers sit in a collective before the one that they wait for is named; it may have good reasons.
WAIT_LIMIT_S = 30.0
# In a collective, or in a step, whose collectives may be TensorFlow's own and seen by nobody.
_NEEDS_PEERS = (Phase.REDUCE, Phase.STEP, Phase.EVALUATE, Phase.PREDICT)


# What TensorFlow raises in a worker whose peer is gone. Source: UnavailableError was seen after a worker of two was
# killed (TensorFlow 2.21, its own collectives); the others are what an aborted collective or RPC may end with.
_OF_LOST_PEERS = frozenset({"UnavailableError", "AbortedError", "CancelledError", "InternalError"})


# Python's, NumPy's and TensorFlow's.
_OF_MEMORY = frozenset({"MemoryError", "_ArrayMemoryError", "ResourceExhaustedError"})


@dataclass(frozen=True)
class Failure:
    """A worker that ended badly.

    Attributes:
        t: When: the time of its ``error`` event where it wrote one, else when its end was seen.
        error: Its ``error`` event, or ``None``: it was killed, or left by itself.
    """

    rank: int
    code: int
    t: float
    error: Event | None = None

    @property
    def error_type(self) -> str:
        """The class of its error; empty where it wrote none."""
        return str(self.error.fields.get("type", "")) if self.error is not None else ""

    @property
    def is_of_lost_peers(self) -> bool:
        """Whether it is most likely the echo of another worker's end."""
        return self.error_type in _OF_LOST_PEERS


def make_failure(rank: int, code: int, ended_at: float, events: Sequence[Event]) -> Failure:
    """Returns the failure of a worker, given its journal."""
    error = next((event for event in events if event.kind == "error"), None)
    return Failure(rank, code, min(ended_at, error.t) if error else ended_at, error)


def first_failure(failures: Sequence[Failure]) -> Failure:
    """Returns the failure that came first: the others may be its consequences.

    A worker that is killed tells nobody when; its peer may have noticed before we have.

    >>> first_failure([Failure(0, 1, 9.0), Failure(1, 137, 8.5)]).rank
    1
    """
    return min(failures, key=lambda failure: (failure.is_of_lost_peers, failure.t, failure.rank))


def is_of_memory(failure: Failure, *, oom_kills: int) -> bool:
    """Returns whether a worker has failed for want of memory.

    Args:
        failure: Its failure.
        oom_kills: How many processes the kernel has killed for want of memory during the attempt.
    """
    return failure.error_type in _OF_MEMORY or (failure.code == 128 + signal.SIGKILL and oom_kills > 0)


def meaning_of(code: int, *, oom_kills: int = 0) -> str:
    """Returns an exit code in words.

    Args:
        code: Exit code; 128+n after signal n.
        oom_kills: How many processes the kernel has killed for want of memory during the run.

    >>> meaning_of(1)
    'exit code 1'
    >>> meaning_of(139)
    'exit code 139, ended by SIGSEGV'
    """
    if code == 78:
        return "exit code 78, refused"
    if not 128 < code < 128 + 65:
        return f"exit code {code}"
    try:
        name = signal.Signals(code - 128).name
    except ValueError:
        name = f"signal {code - 128}"
    text = f"exit code {code}, ended by {name}"
    if code == 128 + signal.SIGKILL:
        text += (
            ": the kernel ran out of memory and killed it"
            if oom_kills
            else ": somebody killed it, or its control group ran out of memory"
        )
    return text


def is_same_error(one: Failure, other: Failure) -> bool:
    """Returns whether two workers failed with the same error."""
    if one.error is None or other.error is None:
        return False
    return all(one.error.fields.get(key) == other.error.fields.get(key) for key in ("type", "text"))


def describe_phase(status: Status) -> str:
    """Returns what a worker was doing, in a few words."""
    where = status.phase.name
    return f"{where}, step {status.step}" if status.step else where


@dataclass(frozen=True)
class Waiting:
    """A worker that sits in a collective.

    Attributes:
        collectives: How many it had entered.
        since: When it was first seen with that number.
    """

    collectives: int
    since: float


def follow_waiting(before: Mapping[int, Waiting], statuses: Mapping[int, Status], now: float) -> dict[int, Waiting]:
    """Returns the workers that sit in a collective, or in a step, now, each since when."""
    waiting = {}
    for rank, status in statuses.items():
        if status.phase in _NEEDS_PEERS:
            old = before.get(rank)
            same = old is not None and old.collectives == status.collectives
            waiting[rank] = old if old is not None and same else Waiting(status.collectives, now)
    return waiting


def left_alone(ended: Sequence[int], waiting: Mapping[int, Waiting], now: float, limit_s: float) -> list[int]:
    """Returns the ranks that wait, over the limit, for workers that have ended their script."""
    if not ended:
        return []
    return sorted(rank for rank, wait in waiting.items() if now - wait.since > limit_s and rank not in ended)


def waited_for(
    waiting: Mapping[int, Waiting], statuses: Mapping[int, Status], now: float, limit_s: float
) -> tuple[list[int], list[int]]:
    """Returns the ranks that wait, over the limit, and those of the others that have not come as far.

    A worker counts as waited for where it has entered fewer collectives: it may be in a callback, or be stopped.
    """
    patient = [rank for rank, wait in waiting.items() if now - wait.since > limit_s]
    most = max((waiting[rank].collectives for rank in patient), default=0)
    behind = sorted(rank for rank, status in statuses.items() if status.collectives < most)
    return sorted(rank for rank in patient if waiting[rank].collectives == most) if behind else [], behind
