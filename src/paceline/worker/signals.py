"""SIGTERM and SIGINT end a worker in time, even while its main thread is stuck in C code.

Python runs a signal's handler in the main thread, between two byte codes: never, while that thread waits inside
a collective. So the number of the signal also goes through a wake-up descriptor to a thread of ours, which ends
the process when the main thread has not managed to.

TensorFlow installs a C++ handler for SIGTERM when a server is created and swallows the signal from then on
(TF 2.21, ``preemption_notifier.cc``); call ``restore_signals`` again afterwards.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

# How long the script may take for its ``finally`` blocks and handlers of KeyboardInterrupt, once the main thread
# has heard of Ctrl-C. Less than the launcher's own patience then. After SIGTERM it is the grace time.
_INTERRUPT_S = 6.0
# A main thread that has not heard by then is stuck in C code, with several workers most likely in a collective that no
# peer will complete any more.
_DEAF_S = 1.5
_POLL_S = 0.1
# A scheduler's signal and the launcher's that passes it on are one wish; what comes later is another one.
_SAME_WISH_S = 1.0


class SignalWatch:
    """Ends this process after SIGTERM or SIGINT, where it does not end by itself in time.

    Args:
        is_saving: Says whether a checkpoint is being written now; ending waits for it, up to ``grace_s``.
        on_signal: Called once with the signal's name, in the watching thread; must not raise.
        grace_s: The longest that ending may take.
        has_peers: Whether the main thread may be stuck in a collective. Otherwise it is in a step, and hears of SIGTERM
            when that has ended.
    """

    def __init__(
        self,
        is_saving: Callable[[], bool] = lambda: False,
        on_signal: Callable[[str], None] = lambda name: None,
        grace_s: float = 30.0,
        *,
        has_peers: bool = True,
    ) -> None:
        self._is_saving = is_saving
        self._on_signal = on_signal
        self._grace_s = grace_s
        self._has_peers = has_peers
        self._heard = False
        self._is_leaving = False
        self._defers: Callable[[], bool] = lambda: False
        self._deferred_at: float | None = None
        self._deciding = threading.RLock()  # a handler may interrupt the main thread while it decides
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        self._thread = threading.Thread(target=self._watch, name="paceline-signals", daemon=True)

    def restore(self) -> bool:
        """Installs, or installs again, the handlers; call in the main thread.

        Returns:
            Whether it was the main thread, so that it could be done.
        """
        if threading.current_thread() is not threading.main_thread():
            return False
        if not self._thread.is_alive():
            self._thread.start()
            os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self._hear)
        signal.signal(signal.SIGINT, self._hear)
        return True

    def begin_leaving(self) -> float:
        """Says that the script is over: from now on an exception would reach nobody, and only be printed.

        Returns:
            How long exit functions may take, in seconds.
        """
        self._is_leaving = True
        return self._grace_s

    def defer(self, while_: Callable[[], bool]) -> None:
        """Has SIGTERM wait for the main thread, which ends by itself, while something goes on; see `was_told`.

        A second signal ends the process at once, and the grace time in any case.

        Args:
            while_: Whether it goes on; called in any thread.
        """
        self._defers = while_

    @property
    def was_told(self) -> bool:
        """Whether SIGTERM has come and waits for the main thread."""
        return self._deferred_at is not None

    def _is_deferred(self, number: int) -> bool:
        """Returns whether this signal, or the one whose echo it is, waits for the main thread."""
        with self._deciding:
            now = time.monotonic()
            if self._deferred_at is not None:
                return number == signal.SIGTERM and now - self._deferred_at < _SAME_WISH_S
            if number != signal.SIGTERM or self._is_leaving or not self._defers():
                return False
            self._deferred_at = now
            return True

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self._is_deferred(number):
            return
        self._heard = True
        if self._is_leaving:
            return  # the thread ends the process
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)

    def _watch(self) -> None:
        while numbers := self._receive():
            for number in numbers:
                if number not in (signal.SIGTERM, signal.SIGINT):
                    continue
                if signal.getsignal(number) == self._hear and self._is_deferred(number):
                    self._wait_for_main_thread()
                self._end(signal.Signals(number))

    def _wait_for_main_thread(self) -> None:
        """Returns after a second signal, or when the grace time is over; by then the process should have ended."""
        self._on_signal(signal.SIGTERM.name)
        began = time.monotonic()
        while (left := self._grace_s - (time.monotonic() - began)) > 0:
            if select.select([self._reader], [], [], left)[0]:
                numbers = [n for n in self._receive() if n in (signal.SIGTERM, signal.SIGINT)]
                if not all(self._is_deferred(number) for number in numbers):
                    break
        flush()
        os._exit(128 + signal.SIGTERM)

    def _receive(self) -> bytes:
        try:
            return self._reader.recv(64)
        except OSError:  # a script that makes itself a daemon closes whatever is open
            return b""

    def _patience_s(self, number: signal.Signals) -> float:
        # A handler of the script's own (save, then end) has what --grace promises; whether it has run is not known.
        if self._is_saving() or signal.getsignal(number) != self._hear:
            return self._grace_s
        if not self._heard and (self._has_peers or number == signal.SIGINT):
            return min(self._grace_s, _DEAF_S)
        return min(self._grace_s, _INTERRUPT_S) if number == signal.SIGINT else self._grace_s

    def _end(self, number: signal.Signals) -> NoReturn:
        self._on_signal(number.name)
        began = time.monotonic()
        while (passed := time.monotonic() - began) < self._patience_s(number):
            time.sleep(min(_POLL_S, self._patience_s(number) - passed))
        flush()
        os._exit(128 + number)


_watch: SignalWatch | None = None


def install_signals(watch: SignalWatch) -> None:
    """Makes ``watch`` the one that ``restore_signals`` restores, and installs it."""
    global _watch
    _watch = watch
    watch.restore()


def restore_signals() -> bool:
    """Installs the handlers again after TensorFlow has replaced them.

    Call in the main thread, after a TensorFlow server was created. Collective: no.

    Returns:
        Whether it was done: not outside a worker, and not in another thread.
    """
    return _watch is not None and _watch.restore()


def defer(while_: Callable[[], bool]) -> None:
    """Has SIGTERM wait for the main thread, which ends by itself, while something goes on. Outside a worker: nothing.

    Args:
        while_: Whether it goes on; called in any thread.
    """
    if _watch is not None:
        _watch.defer(while_)


def was_told() -> bool:
    """Returns whether SIGTERM has come and waits for the main thread."""
    return _watch is not None and _watch.was_told


def begin_leaving() -> float:
    """Says that the script is over, and what is left of it are threads and exit functions.

    Returns:
        How long these may take, in seconds; 0: there was no script.
    """
    return 0.0 if _watch is None else _watch.begin_leaving()


def flush() -> None:
    """Writes out what Python still holds for stdout and stderr; never raises or blocks on a lock for long."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError, RuntimeError):
            pass


class _Mask(threading.local):
    before: set[int] | None = None


_mask = _Mask()


def _before_fork() -> None:
    """Holds SIGTERM back until the child has handlers of its own.

    `multiprocessing` ends the processes of a pool with SIGTERM, often as soon as they are made, and they share the
    wake-up descriptor: the parent would end in the child's place.
    """
    _mask.before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})


def _after_fork() -> None:
    if _mask.before is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, _mask.before)


def _after_fork_in_child() -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _after_fork()
