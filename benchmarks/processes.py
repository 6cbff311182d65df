"""Starts processes on cores of their own, waits for them, and ends what is left of them."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# How long the others of a contestant may go on once one of them has failed, and how long an end may take.
_AFTER_FAILURE_S = 10.0
_GRACE_S = 10.0
_POLL_S = 0.2


@dataclass(frozen=True, kw_only=True)
class Process:
    """One process that the contest starts.

    Attributes:
        argv: Its command; `{port}` becomes the first of the run's free ports.
        cores: Places in the list of cores that it may use; empty: all.
    """

    argv: tuple[str, ...]
    cores: tuple[int, ...] = ()


def start(process: Process, env: Mapping[str, str], port: int, folder: Path, place: int) -> subprocess.Popen[bytes]:
    """Starts a process on its cores, in `folder`.

    Output goes to files named by `place`, so that nobody else needs a core to read it.
    """
    argv = [word.replace("{port}", str(port)) for word in process.argv]
    with (
        (folder / f"{place}.out").open("wb") as out,
        (folder / f"{place}.err").open("wb") as err,
        _on_cores(process.cores),
    ):
        return subprocess.Popen(
            argv,
            cwd=folder,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", **env},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )


@contextmanager
def _on_cores(places: Sequence[int]) -> Iterator[None]:
    """Has this process on the cores that a child shall inherit; several workers share where there are too few."""
    before = os.sched_getaffinity(0)
    cores = sorted(before)
    if places:
        os.sched_setaffinity(0, {cores[place % len(cores)] for place in places})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def wait(started: Sequence[subprocess.Popen[bytes]], limit_s: float) -> str:
    """Returns when all have ended, or why they will not be waited for any longer."""
    end, error = time.monotonic() + limit_s, ""
    while None in [popen.poll() for popen in started]:
        if not error and any(popen.returncode for popen in started):
            error = f"exit code {started[first_failed(started)].returncode}"
            end = min(end, time.monotonic() + _AFTER_FAILURE_S)
        if time.monotonic() > end:
            return error or f"no end within {limit_s:.0f} s"
        time.sleep(_POLL_S)
    place = first_failed(started)
    return error or (f"exit code {started[place].returncode}" if place >= 0 else "")


def first_failed(started: Sequence[subprocess.Popen[bytes]]) -> int:
    """Returns the place of a process that failed by itself before one that we ended, or -1."""
    failed = [place for place, popen in enumerate(started) if popen.returncode]
    return min(failed, key=lambda place: started[place].returncode < 0, default=-1)


def end(popen: subprocess.Popen[bytes]) -> None:
    """Ends a process and what it has started; a launcher gets time to end its workers."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if popen.poll() is not None:
            return
        try:
            os.killpg(popen.pid, number)
            popen.wait(_GRACE_S)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def free_ports(count: int) -> int:
    """Returns the first of `count` ports in a row that nobody listens on."""
    while True:
        first = random.randrange(20_000, 32_000)  # noqa: S311  below the ports that the system gives to clients
        sockets = [socket.socket() for _ in range(count)]
        try:
            for place, candidate in enumerate(sockets):
                candidate.bind(("127.0.0.1", first + place))
        except OSError:
            continue
        else:
            return first
        finally:
            for candidate in sockets:
                candidate.close()
