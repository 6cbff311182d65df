"""What lies in a checkpoint directory: complete, damaged, unfinished."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import IntEnum
from typing import Any

from paceline.checkpoint_dir.layout import (
    DECISIONS,
    EARLIER,
    FITS,
    MANIFEST,
    REPLACED,
    RUN,
    SET_ASIDE,
    UNFINISHED,
    fit_of,
    step_of,
)
from paceline.checkpoint_dir.manifest import FileFacts, Manifest, NewerSchema, decode, decode_run
from paceline.checkpoint_dir.reader import Reader
from paceline.checkpoint_dir.tensor_file import (
    DTYPES,
    LENGTH_BYTES,
    BadTensorFile,
    Header,
    decode_header,
    decode_length,
)
from paceline.errors import CheckpointDamaged


class Depth(IntEnum):
    """How closely a checkpoint is looked at."""

    SIZES = 0
    """Manifests, and the sizes of files."""
    HEADERS = 1
    """The headers of files too: which tensors there are."""
    SUMS = 2
    """The content of files, compared with its checksum."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One checkpoint, or what is left of one.

    Attributes:
        name: Its folder's name within the directory.
        kind: ``step``, ``fit`` or ``other``.
        number: The job step or the number of the fit; -1 of others.
        state: ``complete``, ``damaged``, ``unreadable``, ``newer`` (written by a newer paceline), ``unfinished``
            (being written, or left by a writer that ended), ``replaced`` or ``set aside``.
        fault: What is wrong, one sentence; empty where nothing is.
        created: Unix seconds, None where it is not known.
        num_bytes: The size of its tensors as its manifest has it.
        num_workers: How many workers wrote it.
        paceline: The version that wrote it.
        files: File -> its facts.
        tensors: Tensor -> dtype, shape, bytes; filled at ``Depth.HEADERS``.
        meta: What the writer added.
    """

    name: str
    kind: str
    number: int = -1
    state: str
    fault: str = ""
    created: float | None = None
    num_bytes: int = 0
    num_workers: int = 0
    paceline: str = ""
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    tensors: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_good(self) -> bool:
        """Whether nothing was found wrong with it."""
        return self.state == "complete"

    @property
    def is_checkpoint(self) -> bool:
        """Whether it has the name of a checkpoint, and so should be whole."""
        return self.kind != "other"


@dataclass(frozen=True, kw_only=True, slots=True)
class Examination:
    """What lies in a checkpoint directory.

    Attributes:
        root: The directory.
        run: What ``run.json`` says, None where there is none or it cannot be read.
        run_fault: Why it cannot be read, one sentence.
        entries: Checkpoints in the order of steps, ends of fits, leftovers.
        strangers: Names of what is not ours.
    """

    root: str
    run: Mapping[str, Any] | None = None
    run_fault: str = ""
    entries: tuple[Entry, ...] = ()
    strangers: tuple[str, ...] = ()

    @property
    def checkpoints(self) -> tuple[Entry, ...]:
        """All that should be whole."""
        return tuple(entry for entry in self.entries if entry.is_checkpoint)

    @property
    def is_empty(self) -> bool:
        """Whether nothing of ours lies there."""
        return not self.entries and self.run is None and not self.run_fault

    def as_dict(self) -> dict[str, Any]:
        """Returns a value that json can write."""
        return asdict(self)

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Examination:
        """Returns what ``as_dict`` was made of."""
        entries = tuple(Entry(**entry) for entry in value["entries"])
        return cls(**{**value, "entries": entries, "strangers": tuple(value["strangers"])})


def examine(reader: Reader, *, depth: Depth = Depth.SIZES, only: str = "") -> Examination:
    """Returns what lies in a directory.

    Args:
        reader: Reads it.
        depth: How closely to look.
        only: The name of one folder; the others are not looked at.

    Raises:
        OSError: The directory itself cannot be read.
    """
    names = reader.names("")
    folders = [name for name in names if _kind(name)[0]]
    folders += [f"{FITS}/{name}" for name in (reader.names(FITS) if FITS in names else ()) if fit_of(name) is not None]
    found = (_entry(reader, name, depth) for name in folders if not only or name == only)
    order = {"step": 0, "fit": 1, "other": 2}
    entries = sorted(
        (entry for entry in found if entry is not None), key=lambda it: (order[it.kind], it.number, it.name)
    )
    run, fault = _run(reader) if RUN in names else (None, "")
    strangers = [name for name in names if name not in {RUN, FITS, DECISIONS, EARLIER} and not _kind(name)[0]]
    return Examination(root=reader.root, run=run, run_fault=fault, entries=tuple(entries), strangers=tuple(strangers))


def _kind(name: str) -> tuple[str, int, str]:
    """Returns kind, number and state of a name; the kind is empty where it is not ours."""
    own = name.rpartition("/")[2]
    step, fit = step_of(name), fit_of(own) if name.startswith(f"{FITS}/") else None
    if step is not None:
        return "step", step, ""
    if fit is not None:
        return "fit", fit, ""
    for prefix, state in ((UNFINISHED, "unfinished"), (REPLACED, "replaced"), (SET_ASIDE, "set aside")):
        if name.startswith(prefix):
            return "other", -1, state
    return "", -1, ""


def _entry(reader: Reader, name: str, depth: Depth) -> Entry | None:
    """Returns what a folder holds; None where it has gone meanwhile."""
    kind, number, state = _kind(name)
    if kind == "other":
        return Entry(name=name, kind=kind, state=state)
    try:
        manifest = _manifest(reader, name)
    except NewerSchema as error:
        return Entry(name=name, kind=kind, number=number, state="newer", fault=error.got)
    except CheckpointDamaged as error:
        return Entry(name=name, kind=kind, number=number, state="damaged", fault=error.got)
    except OSError as error:
        if error.errno == errno.ENOENT:
            if not reader.is_folder(name):
                return None
            return Entry(name=name, kind=kind, number=number, state="unfinished", fault="it has no manifest")
        return Entry(name=name, kind=kind, number=number, state="unreadable", fault=_reason(MANIFEST, error))
    tensors, state, fault = _content(reader, name, manifest, depth)
    return Entry(
        name=name,
        kind=kind,
        number=number,
        state=state,
        fault=fault,
        created=manifest.created,
        num_bytes=manifest.num_bytes,
        num_workers=manifest.num_workers,
        paceline=manifest.paceline,
        files={file: asdict(facts) for file, facts in manifest.files.items()},
        tensors=tensors,
        meta=manifest.meta,
    )


def _manifest(reader: Reader, name: str) -> Manifest:
    content = b"".join(bytes(chunk) for chunk in reader.chunks(f"{name}/{MANIFEST}"))
    return decode(content, f"{reader.root}/{name}/{MANIFEST}")


def _run(reader: Reader) -> tuple[Mapping[str, Any] | None, str]:
    try:
        content = b"".join(bytes(chunk) for chunk in reader.chunks(RUN))
        return decode_run(content, f"{reader.root}/{RUN}"), ""
    except CheckpointDamaged as error:
        return None, error.got
    except OSError as error:
        return None, _reason(RUN, error)


def _content(reader: Reader, name: str, manifest: Manifest, depth: Depth) -> tuple[dict[str, Any], str, str]:
    """Returns tensors, state and fault of a checkpoint's files."""
    tensors: dict[str, Any] = {}
    for file, facts in manifest.files.items():
        try:
            header = _file(reader, f"{name}/{file}", facts, depth)
        except BadTensorFile as error:
            return tensors, "damaged", f"{file}: {error}"
        except OSError as error:
            missing = error.errno == errno.ENOENT
            return tensors, "damaged" if missing else "unreadable", _reason(file, error)
        if header is not None:
            tensors |= _tensors(header, file)
    return tensors, "complete", ""


def _file(reader: Reader, name: str, facts: FileFacts, depth: Depth) -> Header | None:
    """Looks at one file of tensors; returns its header where that was read."""
    size = reader.size(name)
    if size != facts.bytes:
        raise BadTensorFile(f"it has {size} bytes instead of {facts.bytes}")
    if depth is Depth.SIZES:
        return None
    beginning, wanted = bytearray(), LENGTH_BYTES
    digest = hashlib.sha256()
    for chunk in reader.chunks(name):
        digest.update(chunk)
        if len(beginning) < wanted:
            beginning += chunk
            wanted = LENGTH_BYTES + decode_length(beginning)
        elif depth is Depth.HEADERS:
            break
    # The sum first: where it differs, what the header says is only a consequence.
    if depth is Depth.SUMS and digest.hexdigest() != facts.sha256:
        raise BadTensorFile("its content is not what was written (sha256)")
    header = decode_header(bytes(beginning))
    if header.num_bytes != size:
        raise BadTensorFile(f"it has {size} bytes instead of the {header.num_bytes} of its header")
    return header


def _tensors(header: Header, file: str) -> dict[str, Any]:
    tensors = {}
    for name, facts in header.tensors.items():
        other = header.dtypes.get(name)
        shape = facts.shape if other is None else facts.shape[:-1]
        tensors[name] = {
            "dtype": other or DTYPES[facts.dtype][0],
            "shape": list(shape),
            "bytes": facts.end - facts.begin,
            "file": file,
        }
    return tensors


def _reason(name: str, error: OSError) -> str:
    return f"{name}: {error.strerror or error}"
