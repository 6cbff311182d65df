"""Ends what a job has left when its launcher was killed and could not do it.

A small process that waits for the end of the launcher's pipe. It runs as a bare script, without our package, so that it
costs next to nothing. Workers watch the same pipe themselves, but what a script has started does not.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

# Workers end by themselves within this time (``worker.lease``).
_POLITE_S = 3.0
_KILL_S = 5.0
_POLL_S = 0.1


class Guard:
    """Guards one job.

    Args:
        lease_fd: Read end of the launcher's pipe; inherited by the guard.
        job_path: Value of ``PACELINE_JOB``, by which processes of the job are known.
    """

    def __init__(self, lease_fd: int, job_path: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(lease_fd), job_path],
            pass_fds=(lease_fd,),
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is not for it
            env={},
        )

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def close(self) -> None:
        """Ends the guard: there is nothing left to end."""
        self._process.kill()
        self._process.wait()


def members(job_path: str) -> list[int]:
    """Returns the processes that carry the job in their environment, wherever they are in the tree."""
    mark = b"PACELINE_JOB=" + os.fsencode(job_path)
    found = []
    for name in os.listdir("/proc"):
        if not name.isdecimal() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if mark in file.read().split(b"\0"):
                    found.append(int(name))
        except OSError:  # ended, or somebody else's
            continue
    return found


def end(job_path: str) -> None:
    """Ends all processes of a job, politely at first."""
    began, number = time.monotonic(), signal.SIGTERM
    told: set[int] = set()
    while (pids := members(job_path)) and time.monotonic() - began < _POLITE_S + _KILL_S:
        if time.monotonic() - began > _POLITE_S:
            number = signal.SIGKILL
        for pid in pids:
            if number == signal.SIGKILL or pid not in told:
                told.add(pid)
                _send(pid, number)
        time.sleep(_POLL_S)


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass


def main() -> None:
    """Waits for the launcher's end."""
    while os.read(int(sys.argv[1]), 1):
        pass
    end(sys.argv[2])


if __name__ == "__main__":
    main()
