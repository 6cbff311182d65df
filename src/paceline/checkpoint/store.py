"""The checkpoints of a job: written whole or not at all, verified when read, kept by number and by time."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from paceline import __version__
from paceline.checkpoint.places import Place, place_of
from paceline.checkpoint.tensors import TensorRefused, decode, encode
from paceline.checkpoint_dir import manifest as manifests
from paceline.checkpoint_dir.layout import (
    FITS,
    MANIFEST,
    RUN,
    SET_ASIDE,
    fit_name,
    fit_of,
    state_name,
    step_name,
    step_of,
)
from paceline.checkpoint_dir.manifest import FileFacts, Manifest
from paceline.checkpoint_dir.retention import to_remove
from paceline.checkpoint_dir.tensor_file import BadTensorFile
from paceline.errors import CheckpointDamaged, CheckpointNotWritten

_CHUNK_BYTES = 1 << 20
"""Hashed, then written, while it is in the processor's cache."""

_FIXES = {
    errno.ENOSPC: "free some space there, or: paceline run --checkpoint-dir /a/disk/with/space ...",
    errno.EDQUOT: "free some of your quota there, or: paceline run --checkpoint-dir /a/disk/with/space ...",
    errno.EFBIG: "raise the limit (ulimit -f unlimited), or: paceline run --checkpoint-dir /another/disk ...",
    errno.EROFS: "paceline run --checkpoint-dir /a/writable/directory ...",
    errno.EACCES: "chmod u+rwx the directory, or: paceline run --checkpoint-dir /a/writable/directory ...",
    errno.EPERM: "chmod u+rwx the directory, or: paceline run --checkpoint-dir /a/writable/directory ...",
    errno.EIO: "check the disk (dmesg), or: paceline run --checkpoint-dir /another/disk ...",
}


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
    """A checkpoint that is complete.

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
        self.tell = tell

    @property
    def path(self) -> str:
        """The directory."""
        return self._place.root

    def path_of(self, step: int) -> str:
        """Returns the folder of a checkpoint."""
        return f"{self.path}/{step_name(step)}"

    def steps(self) -> list[int]:
        """Returns the job steps of all complete checkpoints, ascending. Their content is not looked at."""
        steps = (step_of(name) for name in self._place.names(""))
        return sorted(step for step in steps if step is not None and self._is_complete(step_name(step)))

    def newest(self, before: int | None = None) -> int | None:
        """Returns the newest complete checkpoint's job step, None where there is none; below `before` if given."""
        return max((step for step in self.steps() if before is None or step < before), default=None)

    def fits(self) -> list[int]:
        """Returns the numbers of the fits whose end is there, ascending."""
        fits = (fit_of(name) for name in self._place.names(FITS))
        return sorted(fit for fit in fits if fit is not None and self._is_complete(fit_name(fit)))

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
        written = self._write(step_name(step), step, tensors, meta, shard, barrier)
        if shard[0] == 0:
            self._retain(step)
        return written

    def read(self, step: int) -> Stored:
        """Returns a checkpoint, each file compared with its checksum.

        Raises:
            CheckpointDamaged: It is not what was written, or cannot be read.
        """
        return self._read(step_name(step), step)

    def write_fit(self, number: int, tensors: dict[str, np.ndarray], meta: Mapping[str, Any]) -> Written:
        """Writes how a fit ended. It stays as long as the directory.

        Raises:
            CheckpointNotWritten: It cannot be written.
        """
        return self._write(fit_name(number), number, tensors, meta, (0, 1), None)

    def read_fit(self, number: int) -> Stored:
        """Returns how a fit ended.

        Raises:
            CheckpointDamaged: It is not what was written, or cannot be read.
        """
        return self._read(fit_name(number), number)

    def write_run(self, run: Mapping[str, Any]) -> None:
        """Writes `run.json`, what run this is, whole or not at all. Chief only.

        Raises:
            CheckpointNotWritten: It cannot be written.
        """
        content = json.dumps({"schema": manifests.SCHEMA, **run}, indent=1).encode() + b"\n"
        try:
            self._place.replace(RUN, content)
        except OSError as error:
            raise _not_written(f"{self.path}/{RUN}", error) from error

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
            raise _unreadable(where, error) from error
        return manifests.decode_run(content, where)

    def set_aside(self, step: int) -> None:
        """Renames a checkpoint that is damaged, so that it is not looked at again. Chief only; never raises."""
        with contextlib.suppress(OSError):
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

    def _is_complete(self, name: str) -> bool:
        return self._place.exists(f"{name}/{MANIFEST}")

    def _write(
        self,
        name: str,
        number: int,
        tensors: dict[str, np.ndarray],
        meta: Mapping[str, Any],
        shard: tuple[int, int],
        barrier: Callable[[], None] | None,
    ) -> Written:
        begun = time.monotonic()
        path = f"{self.path}/{name}"
        index, count = shard
        if count > 1 and barrier is None:
            raise ValueError("several shards need a barrier")
        place, working, written = self._place, "", False
        try:
            try:
                pieces = encode(tensors)
                working = place.begin(name, shared=count > 1)
                facts = self._put(f"{working}/{state_name(index, count)}", pieces)
                if count > 1:
                    self._put_json(f"{working}/{_share_name(index)}", {"bytes": facts.bytes, "sha256": facts.sha256})
                written = True
            finally:
                if barrier is not None:
                    barrier()
            if index == 0:
                files = {state_name(0, count): facts, **self._other_shares(working, count)}
                self._finish(working, name, number, files, meta)
        except (OSError, TensorRefused, TypeError) as error:
            if working and (index == 0 or not written):
                with contextlib.suppress(OSError):
                    place.remove(working if index == 0 else f"{working}/{_share_name(index)}")
            raise _not_written(path, error) from error
        return Written(step=number, path=path, seconds=time.monotonic() - begun, bytes=facts.bytes)

    def _finish(
        self, working: str, name: str, number: int, files: Mapping[str, FileFacts], meta: Mapping[str, Any]
    ) -> None:
        manifest = Manifest(
            step=number,
            created=time.time(),
            paceline=__version__,
            num_workers=self._num_workers,
            files=files,
            meta=meta,
        )
        self._put(f"{working}/{MANIFEST}", [memoryview(manifest.encode())])
        self._place.complete(working, name)

    def _put(self, name: str, pieces: list[memoryview]) -> FileFacts:
        """Writes a file and returns what it is, computed on the way."""
        digest, size = hashlib.sha256(), 0
        sink = self._place.create(name)
        try:
            for piece in pieces:
                for begin in range(0, len(piece), _CHUNK_BYTES):
                    chunk = piece[begin : begin + _CHUNK_BYTES]
                    digest.update(chunk)
                    sink.write(chunk)
                size += len(piece)
            sink.finish()
        except BaseException:
            sink.abandon()
            raise
        return FileFacts(bytes=size, sha256=digest.hexdigest())

    def _put_json(self, name: str, value: Mapping[str, Any]) -> None:
        self._put(name, [memoryview(json.dumps(value).encode())])

    def _other_shares(self, working: str, count: int) -> dict[str, FileFacts]:
        """Returns what the other workers wrote, and removes their notes."""
        files = {}
        for index in range(count):
            note = f"{working}/{_share_name(index)}"
            if index:
                try:
                    files[state_name(index, count)] = FileFacts(**json.loads(self._place.read(note).tobytes()))
                except FileNotFoundError as error:
                    raise OSError(errno.ENOENT, f"worker {index} has not written its share") from error
            self._place.remove(note)
        return files

    def _retain(self, step: int) -> None:
        """Removes what need not stay; what is beyond `step` is of another attempt, and not ours to judge."""
        try:
            created = {older: self._created(older) for older in self.steps() if older <= step}
            for older in to_remove(created, keep=self._keep, keep_every_s=self._keep_every_s):
                self._place.remove(step_name(older))
        except OSError as error:
            self.tell(f"an old checkpoint could not be removed: {error.filename}: {error.strerror}")

    def _created(self, step: int) -> float:
        try:
            return self._manifest(step_name(step)).created
        except CheckpointDamaged:
            return float("-inf")

    def _manifest(self, name: str) -> Manifest:
        where = f"{self.path}/{name}/{MANIFEST}"
        try:
            return manifests.decode(self._place.read(f"{name}/{MANIFEST}").tobytes(), where)
        except OSError as error:
            raise _unreadable(where, error) from error

    def _read(self, name: str, number: int) -> Stored:
        manifest = self._manifest(name)
        tensors: dict[str, np.ndarray] = {}
        for file, facts in manifest.files.items():
            tensors |= self._tensors(f"{name}/{file}", facts)
        return Stored(
            step=number,
            tensors=tensors,
            meta=dict(manifest.meta),
            num_workers=manifest.num_workers,
            created=manifest.created,
        )

    def _tensors(self, name: str, facts: FileFacts) -> dict[str, np.ndarray]:
        where = f"{self.path}/{name}"
        try:
            content = self._place.read(name)
            _compare(content, facts)
            return decode(content)
        except OSError as error:
            raise _unreadable(where, error) from error
        except BadTensorFile as error:
            raise CheckpointDamaged(
                "A checkpoint is damaged.", got=f"{where}: {error}", fix=f"paceline checkpoint verify {self.path}"
            ) from error


def _compare(content: np.ndarray, facts: FileFacts) -> None:
    if content.nbytes != facts.bytes:
        raise BadTensorFile(f"it has {content.nbytes} bytes instead of {facts.bytes}")
    if hashlib.sha256(content).hexdigest() != facts.sha256:
        raise BadTensorFile("its content is not what was written (sha256)")


def _share_name(index: int) -> str:
    return f"share-{index}.json"


def _unreadable(where: str, error: OSError) -> CheckpointDamaged:
    return CheckpointDamaged(
        "A checkpoint cannot be read.", got=f"{where}: {error.strerror}", fix=f"ls -la {os.path.dirname(where)}"
    )


def _not_written(path: str, error: Exception) -> CheckpointNotWritten:
    if not isinstance(error, OSError):
        return CheckpointNotWritten("A checkpoint cannot be written.", got=f"{path}: {error}")
    return CheckpointNotWritten(
        "A checkpoint cannot be written; those that were there are.",
        got=f"{path}: {error.strerror or error}",
        fix=_FIXES.get(error.errno or 0, "paceline run --checkpoint-dir /another/directory ..."),
    )
