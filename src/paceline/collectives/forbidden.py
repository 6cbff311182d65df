"""Says where no collective may stand: inside what XLA compiles, transports do not work."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator


class Attempts:
    """How many collectives were asked for where none may stand."""

    def __init__(self) -> None:
        self.count = 0


class _PerThread(threading.local):
    attempts: Attempts | None = None


_state = _PerThread()


@contextlib.contextmanager
def no_collectives() -> Iterator[Attempts]:
    """Counts this thread's collectives instead of making them part of a graph; what is traced then is of no use.

    They are not refused: a trace that breaks off leaves variables without values behind.
    """
    before, _state.attempts = _state.attempts, Attempts()
    try:
        yield _state.attempts
    finally:
        _state.attempts = before


def is_forbidden() -> bool:
    """Returns whether a collective may not stand here, and counts the question as an attempt."""
    if _state.attempts is None:
        return False
    _state.attempts.count += 1
    return True
