"""How many steps one call from Python runs: few enough for a progress bar that lives, many enough to cost nothing.

A call costs about a millisecond in Python, Keras and TensorFlow: as much as a small step.
Where no callback looks at single batches, steps are run in groups that take about
`TARGET_S`, as `steps_per_execution` would have it. Nothing is computed differently.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

#: A group takes so long: Keras refreshes its progress bar 20 times a second, and a person sees 10.
TARGET_S = 0.1
#: What a group is timed with, after a first step that traces, and a second that is timed alone.
_SAMPLE = 8
#: No group has more steps: the journal, the status page and Ctrl-C wait for it.
_MOST = 4096


class Pace:
    """The sizes of the groups of one loop of Keras', the same on every worker.

    Args:
        agree: Returns the chief's number on every worker. Collective: yes.
    """

    def __init__(self, agree: Callable[[int], int]) -> None:
        self._agree = agree
        self._is_first = True
        self._size = 1
        self._is_settled = False
        self.allowed = False

    @property
    def measures(self) -> bool:
        """Whether the next group's time is wanted."""
        return self.allowed and not self._is_first and not self._is_settled

    def following(self) -> int:
        """Returns how many steps the next call may run."""
        return self._size if self.allowed else 1

    def ran(self, steps: int, seconds: float) -> None:
        """Notes how long a group took. Collective: until the size is settled, and then on every worker alike."""
        if not self.allowed or self._is_settled:
            return
        if self._is_first:
            self._is_first = False
            return
        fits = self._agree(max(1, min(_MOST, round(TARGET_S * steps / max(seconds, 1e-9)))))
        self._is_settled = fits == 1 or self._size > 1 or fits <= _SAMPLE
        self._size = fits if self._is_settled else _SAMPLE


class Loop:
    """One of Keras' loops while it runs: `fit`, `evaluate`.

    Args:
        pace: How many steps a call runs.
        epochs: How many epochs a `fit` was asked for.

    Attributes:
        steps: Training steps of the whole loop, None where nobody knows.
        has_fixed_shapes: Whether the data are dense numbers that differ in their number of rows alone.
        is_noted: Whether these two were looked at.
        done: How many steps of the epoch have run.
        was_short: Whether the last group had fewer steps than it was to have: the data have ended.
    """

    def __init__(self, pace: Pace, epochs: int = 1) -> None:
        self.pace = pace
        self.epochs = epochs
        self.steps: int | None = None
        self.has_fixed_shapes = False
        self.is_noted = False
        self.done = 0
        self.was_short = False
        self._begin, self._size = 0, 1

    def begins(self, step: int, size: int) -> None:
        """Notes that a group of `size` steps from `step` on is about to run."""
        self._begin, self._size = step, size
        self.was_short = False

    def ran(self, steps: int, seconds: float) -> None:
        """Notes that `steps` of the group were run. Collective: see `Pace.ran`."""
        self.done = self._begin + steps
        self.was_short = steps < self._size
        self.pace.ran(steps, seconds)


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
