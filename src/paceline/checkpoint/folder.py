"""One folder of a checkpoint: written by one process or by several, each its share; read and compared."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from paceline.checkpoint.faults import Unfit, unreadable
from paceline.checkpoint.places import Place
from paceline.checkpoint.tensors import decode, encode
from paceline.checkpoint_dir import manifest as manifests
from paceline.checkpoint_dir.layout import MANIFEST, state_name
from paceline.checkpoint_dir.manifest import FileFacts, Manifest
from paceline.checkpoint_dir.tensor_file import BadTensorFile
from paceline.errors import CheckpointDamaged

_CHUNK_BYTES = 1 << 20
"""Hashed and then written, while it is in the processor's cache. Source: benchmarks/checkpoints.py."""


def _nobody() -> None:
    """Waits for nobody: one process writes all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """Which part of a checkpoint this process writes.

    Attributes:
        index: Its number, from 0; 0 makes the checkpoint complete.
        count: How many there are.
        barrier: Returns when all have called theirs; each calls it twice, also where it could not write: when all
            have written their shares, and when the checkpoint is complete. What it raises ends the write.
    """

    index: int = 0
    count: int = 1
    barrier: Callable[[], None] = _nobody

    def __post_init__(self) -> None:
        if not 0 <= self.index < self.count:
            raise ValueError(f"share {self.index} of {self.count}")
        if self.count > 1 and self.barrier is _nobody:
            raise ValueError("several shares need a barrier")

    @property
    def file(self) -> str:
        """The name of the file of tensors."""
        return state_name(self.index, self.count)


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """What a manifest says of a checkpoint that is written now: all but its files and its meta.

    Attributes:
        step: The job step; of a fit's end its number.
        created: Unix seconds.
        paceline: The version.
        num_workers: How many workers the job has.
    """

    step: int
    created: float
    paceline: str
    num_workers: int


def write_folder(
    place: Place, name: str, tensors: dict[str, np.ndarray], meta: Mapping[str, Any], *, share: Share, facts: Facts
) -> int:
    """Writes a folder, complete and durable when share 0 returns; returns how many bytes of tensors were written.

    Collective: with several shares.

    Raises:
        OSError: It cannot be written; what was begun is removed.
        Unfit: There is something in it that cannot be kept.
    """
    working, met = "", False
    try:
        try:
            pieces = encode(tensors)
            working = place.begin(name, shares=share.count, num_bytes=sum(map(len, pieces)))
            own = _write_share(place, working, pieces, share)
        finally:  # the others wait for this one, whether it could write or not
            share.barrier()
            met = True
        if share.index == 0:
            _complete(place, working, name, own, meta, share=share, facts=facts)
    except (OSError, Unfit):
        if working and share.index == 0:
            with contextlib.suppress(OSError):
                place.remove(working)
        raise
    finally:
        if met and share.count > 1:  # nobody begins another one of this step before this one is complete
            share.barrier()
    return own.bytes


def _write_share(place: Place, working: str, pieces: list[memoryview], share: Share) -> FileFacts:
    """Writes this worker's file, and beside it, for the chief, what it is."""
    place.remove(f"{working}/{_note(share.index)}")
    own = _put(place, f"{working}/{share.file}", pieces)
    if share.index:
        note = json.dumps({"bytes": own.bytes, "sha256": own.sha256}).encode()
        _put(place, f"{working}/{_note(share.index)}", [memoryview(note)])
    return own


def _complete(
    place: Place, working: str, name: str, own: FileFacts, meta: Mapping[str, Any], *, share: Share, facts: Facts
) -> None:
    """Writes the manifest of a folder in which all shares are, and gives it its name."""
    files = {share.file: own, **_others(place, working, share.count)}
    manifest = _encode(facts, files, meta)
    _put(place, f"{working}/{MANIFEST}", [memoryview(manifest)])
    place.complete(working, name)


def read_manifest(place: Place, name: str) -> Manifest:
    """Returns the manifest of a folder.

    Raises:
        CheckpointDamaged: It cannot be read.
    """
    where = f"{place.root}/{name}/{MANIFEST}"
    try:
        return manifests.decode(place.read(f"{name}/{MANIFEST}").tobytes(), where)
    except OSError as error:
        raise unreadable(where, error) from error


def read_tensors(place: Place, name: str, manifest: Manifest) -> dict[str, np.ndarray]:
    """Returns the tensors of a folder.

    Raises:
        CheckpointDamaged: They are not what the manifest says, or cannot be read.
    """
    tensors: dict[str, np.ndarray] = {}
    for file, facts in manifest.files.items():
        where = f"{place.root}/{name}/{file}"
        try:
            content = place.read(f"{name}/{file}")
            _compare(content, facts)
            tensors |= decode(content)
        except OSError as error:
            raise unreadable(where, error) from error
        except BadTensorFile as error:
            raise CheckpointDamaged(
                "A checkpoint is damaged.", got=f"{where}: {error}", fix=f"paceline checkpoint ls {place.root}"
            ) from error
    return tensors


def _encode(facts: Facts, files: Mapping[str, FileFacts], meta: Mapping[str, Any]) -> bytes:
    manifest = Manifest(
        step=facts.step,
        created=facts.created,
        paceline=facts.paceline,
        num_workers=facts.num_workers,
        files=files,
        meta=meta,
    )
    try:
        return manifest.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise Unfit(f"meta is no JSON: {error}") from error


def _put(place: Place, name: str, pieces: list[memoryview]) -> FileFacts:
    """Writes a file and returns what it is, computed on the way."""
    digest, size = hashlib.sha256(), 0
    sink = place.create(name)
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


def _others(place: Place, working: str, count: int) -> dict[str, FileFacts]:
    """Returns what the other workers say that they wrote, and removes their notes."""
    files = {}
    for index in range(1, count):
        note = f"{working}/{_note(index)}"
        try:
            content = json.loads(place.read(note).tobytes())
        except FileNotFoundError as error:
            raise OSError(errno.ENOENT, f"worker {index} has not written its share") from error
        files[state_name(index, count)] = FileFacts(bytes=content["bytes"], sha256=content["sha256"])
        place.remove(note)
    return files


def _note(index: int) -> str:
    return f"share-{index}.json"


def _compare(content: np.ndarray, facts: FileFacts) -> None:
    if content.nbytes != facts.bytes:
        raise BadTensorFile(f"it has {content.nbytes} bytes instead of {facts.bytes}")
    if hashlib.sha256(content).hexdigest() != facts.sha256:
        raise BadTensorFile("its content is not what was written (sha256)")
