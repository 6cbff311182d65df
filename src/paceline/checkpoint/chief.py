"""The chief writes, the others wait; and a write that only some workers ask for does not hang.

A write is not a collective: scripts say `if chief: model.save(...)`, or give every
worker a path of its own (TensorFlow's tutorial does). So the chief never waits, and
the others look at what the chief has done.
"""

from __future__ import annotations

import io
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from paceline.errors import ConfigurationRefused
from paceline.journal.status import Phase, StatusReader, StatusWriter

T = TypeVar("T")
_POLL_S = 0.01


class Outcome(NamedTuple):
    """What became of a write: whether it was done on this worker, and what it returned where it was done."""

    done_here: bool
    result: Any


class ChiefWrites:
    """Runs writes on the chief and makes the other workers wait for them.

    Args:
        rank: This worker's rank.
        size: Number of workers.
        status: This worker's status page.
        attempt_dir: The folder that holds `worker-R/` of all workers.
    """

    def __init__(self, rank: int, size: int, status: StatusWriter, attempt_dir: Path) -> None:
        self.rank = rank
        self.size = size
        self._status = status
        self._chief = StatusReader(attempt_dir / "worker-0" / "status")
        if size > 1:
            # Opened before the script runs, both: it may remove the run directory.
            self._record = _open_record(attempt_dir / "worker-0" / "saves.jsonl")
            self._chief.read()
        self._asked: Counter[str] = Counter()
        self._inside = threading.local()

    def write(self, path: str | os.PathLike[str], do: Callable[[], T]) -> Outcome:
        """Does a write on the chief; elsewhere waits until the chief has done the same one.

        Another worker writes itself what the chief will not: a path of its own.

        Args:
            path: What is written; the same on the chief and on a worker that waits for it.
            do: Writes.
        """
        if self.size == 1 or getattr(self._inside, "on", False):
            return Outcome(True, do())
        name = _name_of(path)
        self._asked[name] += 1
        if self.rank == 0:
            return Outcome(True, self._write(name, do))
        written = self._wait_for_chief(name, self._asked[name])
        if written is not None:
            return Outcome(False, written["result"])
        return Outcome(True, self._guarded(do))

    def close(self) -> None:
        """Lets go of the record; a worker's own stays open until it ends. Collective: no."""
        if self.size > 1:
            self._record.close()

    def _write(self, name: str, do: Callable[[], T]) -> T:
        result = self._guarded(do)
        line = json.dumps({"path": name, "result": result if isinstance(result, str) else None}).encode() + b"\n"
        try:
            complete = self._record.write(line) == len(line)
            reason = "no space left on the device"
        except OSError as error:
            complete, reason = False, str(error.strerror)
        if not complete:
            raise _cannot_tell(f"{self._record.name}: {reason}, after saving {name}")
        self._status.add_save()
        return result

    def _guarded(self, do: Callable[[], T]) -> T:
        phase = self._status.phase
        self._status.set_phase(Phase.CHECKPOINT)
        self._inside.on = True
        try:
            return do()
        finally:
            self._inside.on = False
            self._status.set_phase(phase)

    def _wait_for_chief(self, name: str, ordinal: int) -> dict[str, Any] | None:
        """Returns the record of the chief's `ordinal`-th write of `name`, None if there will be none."""
        seen = -1
        while True:
            chief = self._chief.read()
            # Once the chief has ended, or waits in a collective that this worker has not come to,
            # it writes nothing more before this worker goes on.
            is_last_look = chief.phase is Phase.END or chief.collectives > self._status.collectives
            if chief.saves != seen or is_last_look:
                seen = chief.saves
                written = self._written(name)
                if len(written) >= ordinal:
                    return written[ordinal - 1]
                if is_last_look:
                    return None
            time.sleep(_POLL_S)

    def _written(self, name: str) -> list[dict[str, Any]]:
        lines = os.pread(self._record.fileno(), os.fstat(self._record.fileno()).st_size, 0).splitlines()
        records = [json.loads(line) for line in lines]
        return [record for record in records if record["path"] == name]


def _open_record(path: Path) -> io.FileIO:
    try:
        return path.open("a+b", buffering=0)
    except OSError as error:
        raise _cannot_tell(f"{path}: {error.strerror}") from error


def _cannot_tell(got: str) -> ConfigurationRefused:
    return ConfigurationRefused(
        "The chief cannot tell the other workers what it has saved: the run directory cannot be written.",
        got=got,
        expected="some space on the disk of the run directory",
        fix="paceline run --run-dir /a/disk/with/space ...",
    )


def _name_of(path: str | os.PathLike[str]) -> str:
    text = os.fspath(path)
    return text if "://" in text else os.path.abspath(text)
