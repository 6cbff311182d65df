"""The person's terminal, shared by the chief's output and the lines of the live view below it.

The cursor always rests where the chief's output stopped, also in the middle of a line, so that a progress
bar may rewrite its line. The view is drawn below and the cursor brought back.
"""

from __future__ import annotations

import errno
import os
import re
import select
import threading
import time
from collections.abc import Callable

from rich.cells import cell_len

_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-Z\\-_]|[\x00-\x07\x0b-\x0c\x0e-\x1f\x7f]")

# Between two looks at whether a reader that does not read is still worth waiting for.
_LOOK_MS = 100
# A reader that takes nothing for this long while the job is being ended is given up.
_STUCK_S = 1.0


class Screen:
    """Writes to our stdout and stderr; safe to call from several threads.

    Args:
        stdout_fd: Where the chief's stdout goes.
        stderr_fd: Where the chief's stderr and our own words go; the view too, if it is a terminal.
        with_view: Whether a live view is shown.
        is_ending: Whether a person wants the job to end. Until then a reader that stops reading (a pager, Ctrl-S) makes
            the output wait, as in any pipe; from then on it holds up nothing.
    """

    def __init__(
        self,
        stdout_fd: int = 1,
        stderr_fd: int = 2,
        *,
        with_view: bool = False,
        is_ending: Callable[[], bool] = lambda: False,
    ) -> None:
        self._fds = {"stdout": stdout_fd, "stderr": stderr_fd}
        self._terminals = {name: os.isatty(fd) for name, fd in self._fds.items()}
        self.with_view = with_view and self._terminals["stderr"]
        self._is_ending = is_ending
        self._lock = threading.Lock()
        self._column = 0  # where the cursor stands in the chief's line
        self._view: tuple[str, ...] = ()
        self._gone: set[str] = set()

    @property
    def stdout_is_terminal(self) -> bool:
        """Whether a progress bar can be drawn on stdout."""
        return self._terminals["stdout"]

    def size(self) -> tuple[int, int]:
        """Returns rows and columns."""
        for name, is_terminal in self._terminals.items():
            if is_terminal and name not in self._gone:
                try:
                    columns, rows = os.get_terminal_size(self._fds[name])
                except OSError:
                    continue
                if columns and rows:
                    return rows, columns
        return 24, 80

    def write(self, name: str, data: bytes) -> None:
        """Writes output of a worker to ``stdout`` or ``stderr``."""
        with self._lock:
            if not self._terminals[name]:
                self._put(name, data)
                return
            redraw = bool(self._view) and b"\n" in data
            if redraw:
                self._clear()
            self._put(name, data)
            self._follow(data.decode("utf-8", "replace"))
            if redraw:
                self._draw()

    def say(self, text: str) -> None:
        """Writes lines of our own to stderr, on lines of their own."""
        lead = b"\n" if self._column and self._terminals["stderr"] else b""
        self.write("stderr", lead + text.encode("utf-8", "backslashreplace") + b"\n")

    def show(self, lines: tuple[str, ...]) -> None:
        """Replaces the view by ``lines``; no line removes it."""
        if not self.with_view:
            return
        with self._lock:
            if lines == self._view:
                return
            if self._view and not lines:
                self._clear()
            self._view = lines
            if lines:
                self._draw()

    def _draw(self) -> None:
        rows, columns = self.size()
        view = self._view[: max(1, rows - 2)]
        shown = "".join(f"\n\r\x1b[2m{line[: columns - 1]}\x1b[0m\x1b[K" for line in view)
        self._put("stderr", f"{shown}\x1b[J\x1b[{len(view)}A{self._back(columns)}".encode())

    def _clear(self) -> None:
        _, columns = self.size()
        self._put("stderr", f"\x1b[B\r\x1b[J\x1b[A{self._back(columns)}".encode())

    def _back(self, columns: int) -> str:
        """Returns what brings the cursor back to its column in the chief's line."""
        return f"\x1b[{min(self._column, columns - 1) + 1}G"

    def _follow(self, text: str) -> None:
        """Keeps count of the column in which the cursor stands."""
        last = text.rpartition("\n")[2]
        if "\n" in text:
            self._column = 0
        for part in re.split(r"([\r\b])", _CONTROL.sub("", last)):
            if part == "\r":
                self._column = 0
            elif part == "\b":
                self._column = max(0, self._column - 1)
            else:
                self._column += cell_len(part.expandtabs(8))
        _, columns = self.size()
        if self._column > columns:
            self._column %= columns

    def _put(self, name: str, data: bytes) -> None:
        if name in self._gone:
            return
        view = memoryview(data)
        try:
            while view:
                if not self._waits_until_writable(self._fds[name]):
                    self._gone.add(name)
                    return
                # A pipe that can be written to takes this much without blocking.
                view = view[self._write_some(self._fds[name], view[: select.PIPE_BUF]) :]
        except OSError as error:  # the training goes on, its logs are kept
            self._gone.add(name)
            if error.errno != errno.EPIPE:  # else whoever read it is gone (| head)
                lost = f"paceline: {name} is no longer written: {error.strerror}; the workers' logs keep it\n"
                self._put("stderr" if name == "stdout" else "stdout", lost.encode())

    def _waits_until_writable(self, descriptor: int) -> bool:
        """Returns whether it can be written to now; ``False``: nobody reads and a person wants the end."""
        poll = select.poll()
        poll.register(descriptor, select.POLLOUT)
        stuck_since: float | None = None
        while not poll.poll(_LOOK_MS):
            if self._is_ending():
                stuck_since = time.monotonic() if stuck_since is None else stuck_since
                if time.monotonic() - stuck_since > _STUCK_S:
                    return False
        return True

    @staticmethod
    def _write_some(descriptor: int, data: memoryview) -> int:
        try:
            return os.write(descriptor, data)
        except BlockingIOError:  # somebody made it non-blocking, and another writer was faster
            return 0
