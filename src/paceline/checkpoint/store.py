"""The checkpoints of a job: written whole or not at all, verified when read, kept by number and by time."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from paceline import __version__
from paceline.checkpoint.faults import Unfit, not_written, unreadable
from paceline.checkpoint.folder import Facts, Share, read_manifest, read_tensors, write_folder
from paceline.checkpoint.places import Place, place_of
from paceline.checkpoint_dir.layout import FITS, MANIFEST, RUN, SET_ASIDE, fit_name, fit_of, step_name, step_of
from paceline.checkpoint_dir.manifest import SCHEMA, decode_run
from paceline.checkpoint_dir.retention import to_remove
from paceline.errors import CheckpointDamaged


def _to_stderr(text: str) -> None:
    print(f"paceline: {text}", file=sys.stderr)  # noqa: T201 - where nobody else is told


@dataclass(frozen=True, kw_only=True, slots=True)
class Stored:
    """What a checkpoint holds.

    Attributes:
        step: The job step; of a fit's end its number.
        tensors: Name -> array.
        meta: What the writer added.
        num_workers: How many workers the job had.
        created: When it was written, unix seconds.
    """

    step: int
    tensors: dict[str, np.ndarray]
    meta: dict[str, Any]
    num_workers: int
    created: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Written:
    """A checkpoint that is complete, or with several shares this worker's.

    Attributes:
        step: The job step.
        path: Its folder.
        seconds: How long writing took.
        bytes: The size of the tensors written here.
    """

    step: int
    path: str
    seconds: float
    bytes: int


class CheckpointStore:
    """The checkpoints in one directory. Collective: no; one process writes a folder, or each its share of it.

    Args:
        path: The directory: a path, or what `tf.io.gfile` takes (`gs://...`). Made when something is written.
        keep: How many of the newest checkpoints stay.
        keep_every_s: Of the older ones one in so many seconds stays too; None: none.
        tell: Takes a line for the person.
        num_workers: How many workers the job has; written down.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        keep: int = 3,
        keep_every_s: float | None = None,
        tell: Callable[[str], None] = _to_stderr,
        num_workers: int = 1,
    ) -> None:
        self._place: Place = place_of(path)
        self._keep = keep
        self._keep_every_s = keep_every_s
        self._num_workers = num_workers
        self._created: dict[int, float] = {}
        self._told_retention = False
        self.tell = tell

    @property
    def path(self) -> str:
        """The directory."""
        return self._place.root

    def path_of(self, step: int) -> str:
        """Returns the folder of a checkpoint."""
        return f"{self.path}/{step_name(step)}"

    def steps(self) -> list[int]:
        """Returns the job steps of all complete checkpoints, ascending. Their content is not looked at.

        Raises:
            CheckpointDamaged: The directory cannot be read.
        """
        return self._complete("", step_of, step_name)

    def newest(self, before: int | None = None) -> int | None:
        """Returns the newest complete checkpoint's job step, None where there is none; below `before` if given."""
        return max((step for step in self.steps() if before is None or step < before), default=None)

    def fits(self) -> list[int]:
        """Returns the numbers of the fits whose end is there, ascending."""
        return self._complete(FITS, fit_of, fit_name)

    def write(
        self,
        step: int,
        tensors: dict[str, np.ndarray],
        meta: Mapping[str, Any],
        shard: tuple[int, int] = (0, 1),
        barrier: Callable[[], None] | None = None,
    ) -> Written:
        """Writes a checkpoint, durable when this returns; then removes those that retention does not keep.

        Args:
            step: The job step. One of the same step that is already there is replaced.
            tensors: This worker's share of them.
            meta: What JSON holds; that of shard 0 is kept.
            shard: Which of how many files is this worker's.
            barrier: With several shards: returns when all workers have called theirs. Each calls it once, also
                where its own share could not be written. Worker 0 then makes the checkpoint complete.

        Raises:
            CheckpointNotWritten: It cannot be written; what was complete before is still there.
        """
        share = Share(index=shard[0], count=shard[1], **({} if barrier is None else {"barrier": barrier}))
        written = self._write(step_name(step), step, tensors, meta, share)
        if share.index == 0:
            self._retain(step)
        return written

    def read(self, step: int) -> Stored:
        """Returns a checkpoint, each file compared with its checksum.

        Raises:
            CheckpointDamaged: It is not what was written, or cannot be read.
        """
        return self._read(step_name(step))

    def write_fit(self, number: int, tensors: dict[str, np.ndarray], meta: Mapping[str, Any]) -> Written:
        """Writes how a fit ended. It stays as long as the directory.

        Raises:
            CheckpointNotWritten: It cannot be written.
        """
        return self._write(fit_name(number), number, tensors, meta, Share())

    def read_fit(self, number: int) -> Stored:
        """Returns how a fit ended.

        Raises:
            CheckpointDamaged: It is not what was written, or cannot be read.
        """
        return self._read(fit_name(number))

    def write_run(self, run: Mapping[str, Any]) -> None:
        """Writes `run.json`, what run this is, whole or not at all. Chief only.

        Raises:
            CheckpointNotWritten: It cannot be written.
        """
        content = json.dumps({"schema": SCHEMA, **run}, indent=1).encode() + b"\n"
        try:
            self._place.replace(RUN, content)
        except OSError as error:
            raise not_written(f"{self.path}/{RUN}", error) from error

    def read_run(self) -> dict[str, Any] | None:
        """Returns what run this is, None where nothing says it.

        Raises:
            CheckpointDamaged: `run.json` cannot be read.
        """
        where = f"{self.path}/{RUN}"
        try:
            if not self._place.exists(RUN):
                return None
            content = self._place.read(RUN).tobytes()
        except OSError as error:
            raise unreadable(where, error) from error
        return decode_run(content, where)

    def set_aside(self, step: int) -> None:
        """Renames a checkpoint that is damaged, so that it is not looked at again. Chief only; never raises."""
        with contextlib.suppress(OSError):  # one that cannot be renamed is found damaged again, no more
            self._place.set_aside(step_name(step), f"{SET_ASIDE}{step_name(step)}")

    def tidy(self) -> None:
        """Removes what writers left that ended while they wrote. Chief only, before anybody writes; never raises."""
        try:
            removed = self._place.tidy()
        except OSError as error:
            self.tell(f"unfinished checkpoints could not be removed: {error.filename}: {error.strerror}")
            return
        if removed:
            self.tell(f"removed what an earlier attempt had not finished writing: {', '.join(removed)}")

    def _complete(
        self, folder: str, number_of: Callable[[str], int | None], name_of: Callable[[int], str]
    ) -> list[int]:
        try:
            numbers = (number_of(name) for name in self._place.names(folder))
            return sorted(
                number
                for number in numbers
                if number is not None and self._place.exists(f"{name_of(number)}/{MANIFEST}")
            )
        except OSError as error:
            raise unreadable(f"{self.path}/{folder}", error) from error

    def _write(
        self, name: str, number: int, tensors: dict[str, np.ndarray], meta: Mapping[str, Any], share: Share
    ) -> Written:
        begun = time.monotonic()
        path = f"{self.path}/{name}"
        created = time.time()
        facts = Facts(step=number, created=created, paceline=__version__, num_workers=self._num_workers)
        try:
            num_bytes = write_folder(self._place, name, tensors, meta, share=share, facts=facts)
        except (OSError, Unfit) as error:
            raise not_written(path, error) from error
        if step_of(name) is not None:
            self._created[number] = created
        return Written(step=number, path=path, seconds=time.monotonic() - begun, bytes=num_bytes)

    def _retain(self, step: int) -> None:
        """Removes what need not stay. What is beyond `step` is of another attempt, and not ours to judge."""
        try:
            created = {older: self._created_of(older) for older in self.steps() if older <= step}
            for older in to_remove(created, keep=self._keep, keep_every_s=self._keep_every_s):
                self._place.remove(step_name(older))
                self._created.pop(older, None)
        except (OSError, CheckpointDamaged) as error:
            if not self._told_retention:
                self._told_retention = True
                self.tell(f"an old checkpoint could not be removed: {error}")

    def _created_of(self, step: int) -> float:
        if step not in self._created:
            try:
                self._created[step] = read_manifest(self._place, step_name(step)).created
            except CheckpointDamaged:
                self._created[step] = float("-inf")
        return self._created[step]

    def _read(self, name: str) -> Stored:
        manifest = read_manifest(self._place, name)
        return Stored(
            step=manifest.step,
            tensors=read_tensors(self._place, name, manifest),
            meta=dict(manifest.meta),
            num_workers=manifest.num_workers,
            created=manifest.created,
        )
