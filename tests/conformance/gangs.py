"""Starts gangs of processes and reads what their workers wrote."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
#: No case takes longer than a few seconds; one that does not end hangs, and the gang is ended.
STALL_S = 90.0
#: A gang that a case has ended is started again for the cases after it, this often.
MOST_RESTARTS = 3
_POLL_S = 0.1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Gang:
    """One start of several workers; one row of the table of environments.

    Attributes:
        name: Unique.
        options: Of `paceline run`; None: plain `python`, without paceline.
        workers: Number of processes.
        strategy: Column of docs/support.md.
        transport: Column of docs/support.md.
        whole: Whether it runs every case in every run of the tests; else those that name it, and every case for
            docs/support.md (`--every-gang`).
        core: Whether it runs the core of the table: where the path differs, not every feature again.
    """

    name: str
    options: tuple[str, ...] | None
    workers: int = 1
    strategy: str = "one-device"
    transport: str = "none"
    whole: bool = True
    core: bool = False


GANGS = (
    Gang(name="plain", options=None),
    Gang(name="one", options=("--workers", "1"), whole=False, core=True),
    Gang(name="two", options=("--workers", "2"), workers=2, strategy="multi-worker", transport="mpi"),
    Gang(
        name="mirrored",
        options=("--strategy", "mirrored", "--replicas-per-worker", "2"),
        strategy="mirrored",
        transport="in-process",
        whole=False,
        core=True,
    ),
    Gang(
        name="ring",
        options=("--workers", "2", "--communication", "ring"),
        workers=2,
        strategy="multi-worker",
        transport="ring",
        whole=False,
    ),
    Gang(
        name="xla",
        options=("--workers", "2", "--jit", "on"),
        workers=2,
        strategy="multi-worker",
        transport="mpi",
        whole=False,
    ),
    Gang(name="four", options=("--workers", "4"), workers=4, strategy="multi-worker", transport="mpi", whole=False),
)


@dataclasses.dataclass(frozen=True)
class Result:
    """What one worker left of one case.

    Attributes:
        arrays: By name, in the order in which the case gave them.
        error: `type`, `text` and `traceback` of its exception, or None.
        seconds: How long it took.
    """

    arrays: dict[str, np.ndarray]
    error: dict[str, str] | None
    seconds: float


class Run:
    """A gang at work; started when made, so that two of them can share the machine."""

    def __init__(self, gang: Gang, names: Sequence[str], folder: Path) -> None:
        self.gang = gang
        self.folder = folder
        self.names = list(names)
        self.died: dict[str, str] = {}
        self.began = time.monotonic()
        self.seconds = 0.0
        self._waiting = list(names)
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        program = [str(HERE / "gang.py"), str(self.folder), *self._waiting]
        if self.gang.options is None:
            command = [sys.executable, *program]
        else:
            run_dir = str(self.folder / f"run-{len(self.died)}")
            command = [sys.executable, "-m", "paceline", "run", "--run-dir", run_dir, *self.gang.options, *program]
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": ""}
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "output").open("ab") as output:
            return subprocess.Popen(
                command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    def finish(self) -> Run:
        """Returns when every case was run, or has ended its gang."""
        while True:
            self._wait()
            self._waiting = [name for name in self._waiting if not self._is_complete(name)]
            if not self._waiting:
                break
            last_words = (self.folder / "output").read_text(errors="replace")[-3000:]
            ended = self._waiting[:1] if len(self.died) < MOST_RESTARTS else self._waiting
            self.died |= dict.fromkeys(ended, last_words)
            self._waiting = [name for name in self._waiting if name not in self.died]
            if not self._waiting:
                break
            self._process = self._start()
        self.seconds = time.monotonic() - self.began
        return self

    def _wait(self) -> None:
        """Returns when the gang has ended; ends it when it has not come on for too long."""
        count, at = -1, time.monotonic()
        while self._process.poll() is None:
            done = sum(self._is_complete(name) for name in self._waiting)
            if done != count:
                count, at = done, time.monotonic()
            if time.monotonic() - at > STALL_S:
                self._process.terminate()
                self._process.wait(60)
                return
            time.sleep(_POLL_S)

    def _is_complete(self, name: str) -> bool:
        return all((self.folder / f"worker-{rank}" / f"{name}.json").exists() for rank in range(self.gang.workers))

    def result(self, case: str, rank: int = 0) -> Result:
        """Returns what a worker left of a case; fails the test if the case ended its gang."""
        if case in self.died:
            raise AssertionError(f"{case} hung or ended the gang {self.gang.name}:\n{self.died[case]}")
        base = self.folder / f"worker-{rank}"
        facts = json.loads((base / f"{case}.json").read_text(encoding="utf-8"))
        with np.load(base / f"{case}.npz", allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in facts["order"]}
        return Result(arrays, facts["error"], facts["seconds"])
