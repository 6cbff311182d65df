"""The checkpoint directory of a job, as `job.json` names it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from paceline.checkpoint.store import CheckpointStore
from paceline.checkpoint_dir import identity
from paceline.checkpoint_dir.layout import is_remote
from paceline.collectives.transport import Transport
from paceline.errors import ConfigurationRefused, PacelineError
from paceline.resume.interval import Interval
from paceline.resume.keeper import Keeper, Worker
from paceline.worker import signals


class Keeping:
    """The checkpoints of this job.

    Args:
        options: `checkpoint` of `job.json`.
        store: The directory.
        rank: This worker's rank.
        tell: Shows a person one line.

    Attributes:
        decisions: Where what was decided while training is kept beside checkpoints; None where that is not on a disk.
    """

    def __init__(
        self, options: Mapping[str, Any], store: CheckpointStore, rank: int, tell: Callable[[str], None]
    ) -> None:
        self._options = options
        self._store = store
        self._rank = rank
        self._tell = tell
        self._keeper: Keeper | None = None
        self.decisions = None if is_remote(store.path) else Path(store.path) / "training.json"

    def begin(self) -> None:
        """Says whose checkpoints these are. Chief only.

        Raises:
            CheckpointNotWritten: The directory cannot be written.
            ConfigurationRefused: They are another run's.
        """
        mine = dict(self._options.get("run") or {})
        earlier = self._store.read_run()
        if earlier is None:
            self._store.write_run({**mine, "created": time.time(), "state": "running"})
            return
        self._store.tidy()
        differences = identity.differences(earlier, mine)
        if mine and differences and is_remote(self._store.path):  # of a disk, the launcher has looked
            raise ConfigurationRefused(
                "The checkpoint directory holds another run.",
                got="\n".join([self._store.path, *differences]),
                expected="a directory that is new, or of this very run",
                fix="paceline run --checkpoint-dir ANOTHER ...",
            )

    def keeper(self, transport: Transport, journal: Any, status: Any, attempt_dir: Path) -> Keeper:
        """Returns what takes checkpoints. Once per worker. Collective: no.

        Args:
            transport: Between workers.
            journal: This worker's.
            status: This worker's page.
            attempt_dir: Where the launcher says that an attempt has failed: then SIGTERM waits for no checkpoint.
        """
        every = self._options.get("every", "auto")
        interval = Interval.of(every)
        worker = Worker(transport, journal, status, self._tell, signals.was_told)
        keeper = Keeper(self._store, interval, worker, shares=self._options.get("writers") == "sharded")
        failed = attempt_dir / "ending"
        signals.defer(lambda: keeper.is_training and not failed.exists())
        if self._rank == 0:
            self._tell(f"checkpoints in {self._store.path}, {interval.describe()}")
        self._keeper = keeper
        return keeper

    def finish(self) -> None:
        """Says that the run has ended well: it is not gone on with. Collective: no."""
        if self._keeper is not None:
            self._keeper.close()
        if self._rank != 0:
            return
        try:
            run = self._store.read_run() or dict(self._options.get("run") or {})
            self._store.write_run({**run, "state": "finished"})
        except PacelineError as error:
            self._tell(f"that the run has ended is not written down. {error.render()}")


def open_directory(job: Mapping[str, Any], rank: int, tell: Callable[[str], None]) -> Keeping | None:
    """Returns the checkpoints of a job, None where it takes none. Collective: no.

    Raises:
        CheckpointNotWritten: The directory cannot be written.
        ConfigurationRefused: It holds another run.
    """
    options = job.get("checkpoint") or {}
    if not options.get("dir"):
        return None
    store = CheckpointStore(
        options["dir"],
        keep=int(options.get("keep", 3)),
        keep_every_s=options.get("keep_every_s"),
        tell=tell,
        num_workers=int(job["num_workers"]),
    )
    keeping = Keeping(options, store, rank, tell)
    if rank == 0:
        keeping.begin()
    return keeping
