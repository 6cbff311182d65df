"""Whether a job is started again after an attempt has ended. Pure functions.

=========== ===================================================================== =========================
kind        what was seen of the worker that failed first                         started again
=========== ===================================================================== =========================
done        every worker ended with 0                                             no
stopped     the launcher was told to end, or a person pressed Ctrl-C              no
refused     2, 70 or 78: usage, an error of ours, what cannot work                no
script      an exception of the script, or an exit code of its own                no: it would come again
memory      the kernel killed a worker for want of memory; MemoryError;           once; not a second time at
            ResourceExhaustedError                                                the same place
killed      ended by SIGKILL or another signal that nobody here has sent          yes
crashed     ended by a signal of its own: SIGSEGV, SIGABRT, SIGBUS, SIGILL,       yes, but not at the third time in
            SIGFPE                                                                one place
lost        what TensorFlow or a transport raises when a peer is gone             yes
limit       124: not ready in time, no progress, left alone                       yes, but not at the third time in
                                                                                  one place
preempted   143 without a word from us: a scheduler has taken this worker, or the yes, without being counted, but
            script ends so by itself                                              not at the third time in one place
=========== ===================================================================== =========================

No more than `--max-restarts` times. One place: none of these attempts has come a step further than those before it.
"""

from __future__ import annotations

import enum
import signal
from collections.abc import Sequence
from dataclasses import dataclass

from paceline.errors import EXIT_INTERNAL, EXIT_LIMIT, EXIT_PREEMPTED, EXIT_REFUSED, EXIT_USAGE
from paceline.launch.verdict import Failure, is_of_memory

#: The first wait, doubled with each failure in a row: what is wrong outside (a disk, a network) often passes by itself.
#: Source: exponential back-off as Kubernetes does it for a Job (10 s, doubled, 6 min at most), from a shorter start and
#: to a shorter end, since no container is to be started.
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
#: So many attempts in a row without a step more than before are no accident.
MOST_IN_PLACE = 3


class Kind(enum.Enum):
    """How an attempt ended; the table above."""

    DONE = "done"
    STOPPED = "stopped"
    REFUSED = "refused"
    SCRIPT = "script"
    MEMORY = "memory"
    KILLED = "killed"
    CRASHED = "crashed"
    LOST = "lost"
    LIMIT = "limit"
    PREEMPTED = "preempted"


_FINAL = {
    Kind.DONE: "it has ended well",
    Kind.STOPPED: "it was told to end",
    Kind.REFUSED: "what cannot work will not work the next time",
    Kind.SCRIPT: "an error of the script would come again",
}


_OWN_SIGNALS = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
#: What a job may do to itself, each time it comes to the same place.
_OWN_DOING = (Kind.CRASHED, Kind.LIMIT, Kind.MEMORY, Kind.PREEMPTED)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How an attempt ended.

    Attributes:
        code: Its exit code.
        kind: What that means.
        rank: The worker that failed first, where one did.
        step: The furthest step that a worker's page has shown.
    """

    code: int
    kind: Kind
    rank: int | None = None
    step: int = 0


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What is done after an attempt.

    Attributes:
        again: Whether the job is started again.
        reason: Why, or why not.
        wait_s: How long to wait before.
        number: The how-many-eth restart it is, of those that are counted.
    """

    again: bool
    reason: str
    wait_s: float = 0.0
    number: int = 0


def kind_of(failure: Failure, *, oom_kills: int = 0) -> Kind:
    """Returns what the failure of the worker that failed first means.

    Args:
        failure: It.
        oom_kills: How many processes the kernel has killed for want of memory during the attempt.
    """
    if failure.code in (EXIT_USAGE, EXIT_INTERNAL, EXIT_REFUSED) and not failure.is_of_lost_peers:
        return Kind.LOST if failure.error_type == "TransportError" else Kind.REFUSED
    if is_of_memory(failure, oom_kills=oom_kills):
        return Kind.MEMORY
    if failure.is_of_lost_peers:
        return Kind.LOST
    if failure.code == EXIT_PREEMPTED:
        return Kind.PREEMPTED
    if failure.code == EXIT_LIMIT:
        return Kind.LIMIT
    if failure.code == 130:
        return Kind.STOPPED
    if failure.code <= 128 or failure.error is not None:
        return Kind.SCRIPT
    return Kind.CRASHED if failure.code - 128 in _OWN_SIGNALS else Kind.KILLED


def decide(history: Sequence[Outcome], max_restarts: int) -> Choice:
    """Returns whether the job is started again.

    Args:
        history: How its attempts have ended, the last one last; not empty.
        max_restarts: How often it may be.
    """
    last = history[-1]
    if last.kind in _FINAL:
        return Choice(again=False, reason=_FINAL[last.kind])
    if max_restarts == 0:
        return Choice(again=False, reason="--max-restarts is 0")
    counted = sum(outcome.kind is not Kind.PREEMPTED for outcome in history)
    if counted > max_restarts:
        return Choice(again=False, reason=f"it was started again {counted - 1} times (--max-restarts {max_restarts})")
    in_place = _in_place(history)
    if last.kind is Kind.MEMORY and len(history) > 1 and history[-2].kind is Kind.MEMORY and in_place > 1:
        return Choice(again=False, reason=f"memory has run out twice {_where(last)}")
    if in_place >= MOST_IN_PLACE and all(outcome.kind in _OWN_DOING for outcome in history[-MOST_IN_PLACE:]):
        return Choice(again=False, reason=f"{in_place} attempts in a row have ended {_where(last)}")
    wait_s = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(in_place - 1, 30))
    reason = {
        Kind.MEMORY: "memory has run out, which may have been another program's doing",
        Kind.KILLED: "a worker was killed",
        Kind.CRASHED: "a worker has crashed",
        Kind.LOST: "a worker has lost its peers",
        Kind.LIMIT: "a limit was reached",
        Kind.PREEMPTED: "a worker was preempted",
    }[last.kind]
    return Choice(again=True, reason=reason, wait_s=wait_s, number=counted)


def _in_place(history: Sequence[Outcome]) -> int:
    """Returns how many attempts in a row, the last one among them, have come no further than one before them had.

    >>> [_in_place([Outcome(code=137, kind=Kind.KILLED, step=s) for s in steps]) for steps in ([5], [5, 9], [9, 9, 7])]
    [1, 1, 3]
    """
    count, furthest = 0, -1
    for outcome in history:
        count = 1 if outcome.step > furthest else count + 1
        furthest = max(furthest, outcome.step)
    return count


def _where(outcome: Outcome) -> str:
    return f"at step {outcome.step}, and no further" if outcome.step else "before the first step"
