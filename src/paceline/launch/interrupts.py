"""Signals to the launcher: remembered here, acted on by the supervisor."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any, final

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@final
class Interrupts:
    """Takes Ctrl-C, SIGTERM and the terminal's end while it is entered; used as a context.

    Outside the main thread nothing is taken: the caller has its own handlers.

    Attributes:
        first: The first signal that came, or ``None``.
        count: How many came.
        resized: The terminal has another size since this was last cleared.
    """

    def __init__(self) -> None:
        self.first: signal.Signals | None = None
        self.count = 0
        self.resized = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in (*_ENDING, signal.SIGWINCH):
                # Started with nohup: the person wants the job to live on.
                if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                    continue
                self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _take(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGWINCH:
            self.resized = True
            return
        self.first = self.first or signal.Signals(number)
        self.count += 1
