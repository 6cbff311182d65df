"""How many steps one call from Python runs: few enough for a progress bar that lives, many enough to cost nothing.

A call costs about a millisecond in Python, Keras and TensorFlow: as much as a small step.
Where no callback looks at single batches, steps are run in groups that take about
`TARGET_S`, as `steps_per_execution` would have it. Nothing is computed differently.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

#: A group takes so long: Keras refreshes its progress bar 20 times a second, and a person sees 10.
TARGET_S = 0.1
#: A group that takes so long, because something has become slow, ends before all of its steps have run: a person's
#: Ctrl-C, callbacks and the page of the job wait for it. Source: ten times what it was to take.
LIMIT_S = 10 * TARGET_S
#: No group has more steps: the journal, the status page and Ctrl-C wait for it.
_MOST = 4096
#: A group has at most so many times the steps of the one before: a lucky measurement must not run for minutes.
_GROWTH = 8
#: So many groups are measured one after the other, then one in so many.
_AT_FIRST, _LATER = 4, 32


class Pace:
    """The sizes of the groups of one loop of Keras', the same on every worker.

    Args:
        agree: Returns the chief's number on every worker. Collective: yes.

    Attributes:
        allowed: Whether steps may run in groups: no callback of any worker looks at single batches.
    """

    def __init__(self, agree: Callable[[int], int]) -> None:
        self._agree = agree
        self._size = 1
        self._traced: set[bool] = set()
        self._groups = 0
        self.allowed = False

    @property
    def measures(self) -> bool:
        """Whether the time of the group that runs is wanted."""
        return self.allowed and (self._groups <= _AT_FIRST or self._groups % _LATER == 0)

    def following(self) -> int:
        """Returns how many steps the next call may run."""
        return self._size if self.allowed else 1

    def paused(self, steps: int) -> None:
        """Notes that a group took too long and ended after so many steps, the same on every worker."""
        self._size = max(1, min(self._size, steps))

    def ran(self, steps: int, seconds: float) -> None:
        """Notes how long a group took. Collective: where it `measures`, and then on every worker alike."""
        if not self.allowed:
            return
        several = steps > 1
        if several not in self._traced:
            # This one's time is the time of tracing: one step by itself, and a loop of steps, are two graphs.
            self._traced.add(several)
            return
        if self.measures:
            fits = self._agree(max(1, min(_MOST, round(TARGET_S * steps / max(seconds, 1e-9)))))
            self._size = min(fits, self._size * _GROWTH)
        self._groups += 1


class Loop:
    """One of Keras' loops while it runs: `fit`, `evaluate`.

    Args:
        pace: How many steps a call runs.
        epochs: How many epochs a `fit` was asked for.

    Attributes:
        steps: Training steps of the whole loop, None where nobody knows.
        has_fixed_shapes: Whether the data are dense numbers that differ in their number of rows alone.
        is_noted: Whether these two were looked at.
        done: How many steps of the epoch have run; 0 where Keras itself hands out several at once.
        iterator: What the last group read.
        missing: How many steps the last group had fewer than it was to have.
        paused: Whether that is because they took long; else the data have ended.
        between: Called with Keras' iterator before it hands out steps; None: nobody wants to be.
        most: A group has at most so many steps.
    """

    def __init__(self, pace: Pace, epochs: int = 1) -> None:
        self.pace = pace
        self.epochs = epochs
        self.steps: int | None = None
        self.has_fixed_shapes = False
        self.is_noted = False
        self.done = 0
        self.between: Callable[[Any], None] | None = None
        self.most = _MOST
        self.missing = 0
        self.paused = False
        self._begin: int | None = None
        self._size = 1
        self.iterator: Any = None

    def begins(self, step: int, size: int, iterator: Any) -> None:
        """Notes that a group of `size` steps from `step` on is about to run."""
        self._begin, self._size, self.iterator = step, size, iterator
        self.missing, self.paused = 0, False

    def ran(self, steps: int, seconds: float, *, paused: bool = False) -> None:
        """Notes that `steps` of the group were run. Collective: see `Pace.ran`."""
        if self._begin is not None:
            self.done = self._begin + steps
            self.missing = self._size - steps
            self.paused = paused
        self.pace.ran(steps, seconds)
        if paused:
            self.pace.paused(steps)


class _PerThread(threading.local):
    def __init__(self) -> None:
        self.loops: list[Loop | None] = []


_state = _PerThread()


def current_loop() -> Loop | None:
    """Returns the innermost of Keras' loops that this thread is in."""
    return _state.loops[-1] if _state.loops else None


@contextlib.contextmanager
def running(loop: Loop | None) -> Iterator[None]:
    """Makes `loop` the current one; None: what runs is no loop over an iterator."""
    _state.loops.append(loop)
    try:
        yield
    finally:
        _state.loops.pop()
