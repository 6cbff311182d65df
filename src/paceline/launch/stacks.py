"""What workers are doing, written down before they are ended."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from paceline.launch.process import WorkerProcess

#: A signal handler of faulthandler needs this long at most, also on a machine that is busy.
_PYTHON_S = 0.3
_NATIVE_S = 15.0


def save(workers: Sequence[WorkerProcess]) -> None:
    """Writes what each worker does into its ``stacks`` folder: ``request.txt``, ``kernel.txt``, ``native.txt``.

    The first holds the stacks of Python as the worker itself writes them, which one that is stopped does not; the last
    those of Python and C as py-spy reads them from outside (of a stopped process Python's only), or why it could not.
    """
    running = [worker for worker in workers if worker.poll() is None]
    for worker in running:
        worker.send(signal.SIGUSR1)
    reading = [(worker, _start_native(worker)) for worker in running]
    for worker in running:
        _write(worker, "kernel.txt", _kernel(worker.pid))
    time.sleep(_PYTHON_S)
    until = time.monotonic() + _NATIVE_S
    for worker, reader in reading:
        _write(worker, "native.txt", _native(reader, until))


def state_of(pid: int) -> str:
    """Returns the state of a process as the kernel names it: R, S, D, T (stopped), t (traced), Z; empty: it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def _start_native(worker: WorkerProcess) -> subprocess.Popen[bytes] | str:
    program = Path(sys.executable).with_name("py-spy")
    found = str(program) if program.exists() else shutil.which("py-spy")
    if found is None:
        return "py-spy is not installed: pip install py-spy"
    # To read C's stacks it stops the process, and waits for that: for ever, where it is stopped already.
    how = "--nonblocking" if state_of(worker.pid) == "T" else "--native"
    command = [found, "dump", how, "--pid", str(worker.pid)]
    try:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
    except OSError as error:
        return f"{found}: {error.strerror}"


def _native(reader: subprocess.Popen[bytes] | str, until: float) -> str:
    if isinstance(reader, str):
        return f"{reader}\n"
    try:
        output, _ = reader.communicate(timeout=max(0.1, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        reader.kill()
        output, _ = reader.communicate()
        output += f"\npy-spy has not ended within {_NATIVE_S:g} s\n".encode()
    return output.decode("utf-8", errors="replace")


def _kernel(pid: int) -> str:
    """Returns what the kernel says of a process and its threads: state, and in which of its functions each waits."""
    lines = []
    try:
        threads = sorted(os.listdir(f"/proc/{pid}/task"), key=int)
    except OSError as error:
        return f"process {pid}: {error.strerror}\n"
    for thread in threads:
        folder = Path("/proc", str(pid), "task", thread)
        facts = {}
        for name in ("status", "wchan", "syscall"):
            try:
                facts[name] = (folder / name).read_text(encoding="utf-8", errors="replace").strip()
            except OSError as error:
                facts[name] = str(error.strerror)
        fields = dict(line.split(":", 1) for line in facts["status"].splitlines() if ":" in line)
        state, name = fields.get("State", "").strip(), fields.get("Name", "").strip()
        lines.append(
            f"thread {thread} {name}: state {state}; waits in {facts['wchan']}; system call {facts['syscall']}"
        )
    return "\n".join(lines) + "\n"


def _write(worker: WorkerProcess, name: str, text: str) -> None:
    folder = worker.directory / "stacks"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    except OSError:  # a full disk: the job is ended all the same
        pass
