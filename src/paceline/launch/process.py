"""One worker process: how it is started, spoken to and ended."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class StartRequest:
    """Everything about one process to start.

    Attributes:
        directory: The worker's folder in the run directory.
        environ: The whole environment.
        cwd: The folder it runs in.
        cpus: Cores it is pinned to; empty: not pinned.
        inherited_fds: Descriptors besides the three standard ones.
        lease_fd: Read end of the pipe that tells of the launcher's end; one of the inherited.
        terminal_size: Rows and columns of the terminal that its stdout shall be; ``None``: a pipe.
        reads_stdin: Whether it gets our stdin, rather than an empty one.
    """

    rank: int
    directory: Path
    environ: Mapping[str, str]
    cwd: str
    cpus: tuple[int, ...]
    inherited_fds: tuple[int, ...]
    lease_fd: int
    terminal_size: tuple[int, int] | None
    reads_stdin: bool


class WorkerProcess:
    """A running worker.

    Attributes:
        stdout_fd: Our end of its stdout; reading it is the owner's task, closing it too.
        stderr_fd: Our end of its stderr.
        ended_at: Unix seconds when its end was seen.
    """

    def __init__(self, request: StartRequest, process: subprocess.Popen[bytes], stdout_fd: int, stderr_fd: int) -> None:
        self.rank = request.rank
        self.directory = request.directory
        self.has_terminal = request.terminal_size is not None
        self.stdout_fd = stdout_fd
        self.stderr_fd = stderr_fd
        self.ended_at: float | None = None
        self._process = process

    @property
    def pid(self) -> int:
        """Process id, which is also the id of its group and session."""
        return self._process.pid

    def poll(self) -> int | None:
        """Returns the exit code (128+n after signal n), or ``None`` while it runs."""
        code = self._process.poll()
        if code is None:
            return None
        if self.ended_at is None:
            self.ended_at = time.time()
        return 128 - code if code < 0 else code

    def send(self, number: signal.Signals) -> None:
        """Sends a signal to the worker alone: it ends what it started in its own way."""
        if self.poll() is None:
            self._process.send_signal(number)

    def kill_group(self) -> None:
        """Kills the worker and all processes of its group."""
        if self.poll() is None:  # as long as it is not reaped, its id is nobody else's
            os.killpg(self.pid, signal.SIGKILL)

    def wait(self, timeout_s: float) -> None:
        """Waits until it has ended, at most ``timeout_s``."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            pass


def start(request: StartRequest) -> WorkerProcess:
    """Starts a worker in a session of its own.

    Call in the launcher's main thread: the kernel takes the end of that thread for the end of the parent.
    """
    if request.terminal_size is None:
        stdout_fd, stdout_child = os.pipe()
    else:
        stdout_fd, stdout_child = _open_terminal(request.terminal_size)
    stderr_fd, stderr_child = os.pipe()
    try:
        process = subprocess.Popen(
            _command(request.lease_fd),
            env=dict(request.environ),
            cwd=request.cwd,
            stdin=None if request.reads_stdin else subprocess.DEVNULL,
            stdout=stdout_child,
            stderr=stderr_child,
            pass_fds=request.inherited_fds,
            start_new_session=True,
        )
    except BaseException:
        os.close(stdout_fd)
        os.close(stderr_fd)
        raise
    finally:
        os.close(stdout_child)
        os.close(stderr_child)
    if request.cpus:
        _pin(process.pid, request.cpus)
    return WorkerProcess(request, process, stdout_fd, stderr_fd)


def resize_terminal(descriptor: int, size: tuple[int, int]) -> None:
    """Tells the worker's terminal its rows and columns."""
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))


def _command(lease_fd: int) -> list[str]:
    # -P: a file in the current folder that is named like one of our modules must not be imported.
    safe_path = ["-P"] if sys.version_info >= (3, 11) else []
    return [
        sys.executable,
        *safe_path,
        "-m",
        "paceline.worker",
        f"--lease-fd={lease_fd}",
        f"--launcher-pid={os.getpid()}",
    ]


def _open_terminal(size: tuple[int, int]) -> tuple[int, int]:
    """Returns our end and the worker's end of a new terminal that changes no byte of the output."""
    ours, child = os.openpty()
    attributes = termios.tcgetattr(child)
    attributes[1] &= ~termios.OPOST
    termios.tcsetattr(child, termios.TCSANOW, attributes)
    resize_terminal(child, size)
    return ours, child


def _pin(pid: int, cpus: tuple[int, ...]) -> None:
    # Before Python has started in it, so that every thread inherits this.
    try:
        os.sched_setaffinity(pid, cpus)
    except OSError:  # it has ended already, or the machine took the core away
        pass
