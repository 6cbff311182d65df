"""Carries what workers print to their log files and, of some, to the terminal."""

from __future__ import annotations

import os
import select
import selectors
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from paceline.launch.process import WorkerProcess
from paceline.launch.screen import Screen

_KEPT_LINES = 60
_LONGEST_LINE_BYTES = 16_384
# A process that a script left behind may hold a pipe open; its later output is not waited for.
_DRAIN_S = 1.0
_TERMINAL_LAG_S = 0.002


@dataclass
class _Stream:
    worker: WorkerProcess
    name: str
    log: BinaryIO | None
    pending: bytes = b""
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=_KEPT_LINES))


class OutputPump:
    """One thread that reads every worker's output until all of it has ended.

    Args:
        workers: Whose output.
        screen: The person's terminal.
        all_output: Show every worker, each line with its rank, rather than the chief alone.
    """

    def __init__(self, workers: Sequence[WorkerProcess], screen: Screen, *, all_output: bool) -> None:
        self._screen = screen
        self._prefixed = all_output and len(workers) > 1
        self._selector = selectors.DefaultSelector()
        self._streams: dict[tuple[int, str], _Stream] = {}
        self._stop_at: float | None = None
        for worker in workers:
            for name, descriptor in (("stdout", worker.stdout_fd), ("stderr", worker.stderr_fd)):
                stream = _Stream(worker, name, _open_log(worker, name, screen))
                self._streams[worker.rank, name] = stream
                self._selector.register(descriptor, selectors.EVENT_READ, stream)
        self._thread = threading.Thread(target=self._run, name="paceline-output", daemon=True)

    def start(self) -> None:
        """Starts to read."""
        self._thread.start()

    def finish(self) -> None:
        """Reads what is left, not longer than a moment, and closes the files. The workers must have ended.

        A slow reader of ours is waited for: the end of the output is often what matters.
        """
        self._stop_at = time.monotonic() + _DRAIN_S
        self._thread.join()

    def tail(self, rank: int, name: str = "stderr") -> list[str]:
        """Returns the last lines that a worker has printed."""
        stream = self._streams[rank, name]
        rest = stream.pending.decode("utf-8", "replace")
        return [*stream.tail.copy(), *([rest] if rest else [])]

    def is_shown(self, rank: int) -> bool:
        """Returns whether this worker's output goes to the terminal."""
        return rank == 0 or self._prefixed

    def _run(self) -> None:
        while self._selector.get_map():
            if self._stop_at is not None and time.monotonic() > self._stop_at:
                break
            for key, _ in self._selector.select(0.2):
                if key.fd in self._selector.get_map():
                    self._read(key)
        for stream in self._streams.values():
            self._close(stream)
        self._selector.close()

    def _read(self, key: selectors.SelectorKey) -> None:
        stream: _Stream = key.data
        if stream.name == "stderr" and stream.worker.has_terminal:
            self._let_terminal_go_first(stream.worker.stdout_fd)
        try:
            data = os.read(key.fd, 65536)
        except OSError:  # a terminal says so when its last writer is gone
            data = b""
        if not data:
            self._selector.unregister(key.fd)
            os.close(key.fd)
            return
        began = time.monotonic()
        _log(stream, data, self._screen)
        self._show(stream, data)
        if self._stop_at is not None:  # time in which nobody read us is no silence of the workers
            self._stop_at += time.monotonic() - began

    def _show(self, stream: _Stream, data: bytes) -> None:
        if stream.worker.rank == 0 and not self._prefixed:
            self._screen.write(stream.name, data)
        *lines, stream.pending = (stream.pending + data).split(b"\n")
        if len(stream.pending) > _LONGEST_LINE_BYTES:  # a progress bar that never ends its line
            stream.pending = stream.pending[-_LONGEST_LINE_BYTES:]
        for line in lines:
            self._take_line(stream, line)

    def _let_terminal_go_first(self, descriptor: int) -> None:
        # The kernel hands on what goes through a terminal a moment later than what goes through a pipe:
        # without this, a line on stderr would overtake the end of a progress bar on stdout.
        key = self._selector.get_map().get(descriptor)
        if key is not None and select.select([descriptor], [], [], _TERMINAL_LAG_S)[0]:
            self._read(key)

    def _take_line(self, stream: _Stream, line: bytes) -> None:
        final = line.rstrip(b"\r").rpartition(b"\r")[2]
        stream.tail.append(final.decode("utf-8", "replace"))
        if self._prefixed:
            self._screen.write(stream.name, b"[%d] %s\n" % (stream.worker.rank, final))

    def _close(self, stream: _Stream) -> None:
        if stream.pending:
            self._take_line(stream, stream.pending)
            stream.pending = b""
        if stream.log is not None:
            stream.log.close()


def _open_log(worker: WorkerProcess, name: str, screen: Screen) -> BinaryIO | None:
    path = worker.directory / f"{name}.log"
    try:
        return path.open("ab", buffering=0)
    except OSError as error:
        screen.say(f"paceline: {path} is not written: {error.strerror}")
        return None


def _log(stream: _Stream, data: bytes, screen: Screen) -> None:
    if stream.log is None:
        return
    try:
        stream.log.write(data)
    except OSError as error:
        screen.say(f"paceline: {stream.log.name} is no longer written: {error.strerror}")
        stream.log = None
