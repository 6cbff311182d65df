"""The manifest of one checkpoint: what belongs to it, how many bytes, and their sum."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from paceline.checkpoint_dir.layout import is_state_name
from paceline.errors import CheckpointDamaged

SCHEMA = 1
_SHA256 = re.compile(r"[0-9a-f]{64}")
_FIX = "paceline checkpoint ls DIR   # shows which checkpoints are whole"


class NewerSchema(CheckpointDamaged):
    """What was written by a newer paceline, and is not read by this one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileFacts:
    """One file of a checkpoint.

    Attributes:
        bytes: Its size.
        sha256: The sum of its content, 64 hexadecimal digits.
    """

    bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """What a checkpoint says of itself.

    Attributes:
        step: The job step; of a fit's end its number.
        created: When it was written, unix seconds.
        paceline: The version that wrote it.
        num_workers: How many workers the job had.
        files: Name -> facts, of all files of tensors.
        meta: Whatever the writer added.
    """

    step: int
    created: float
    paceline: str
    num_workers: int
    files: Mapping[str, FileFacts]
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def num_bytes(self) -> int:
        """The size of all files of tensors together."""
        return sum(facts.bytes for facts in self.files.values())

    def encode(self) -> bytes:
        """Returns the content of the file.

        Raises:
            TypeError, ValueError: ``meta`` holds what JSON cannot.
        """
        content = {
            "schema": SCHEMA,
            "step": self.step,
            "created": self.created,
            "paceline": self.paceline,
            "num_workers": self.num_workers,
            "files": {name: {"bytes": it.bytes, "sha256": it.sha256} for name, it in self.files.items()},
            "meta": dict(self.meta),
        }
        return json.dumps(content, indent=1).encode() + b"\n"


def decode(content: bytes, where: str) -> Manifest:
    """Returns the manifest that a file holds.

    Args:
        content: The file.
        where: Its path, for the error.

    Raises:
        CheckpointDamaged: It is no manifest, or one of a newer paceline.
    """
    value = _object(content, where)
    _check_schema(value, where)
    try:
        return _manifest(value)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _damaged(where, f"wrong or missing: {error}") from error


def _object(content: bytes, where: str) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _damaged(where, f"it is no JSON ({error})" if content else "it is empty") from error
    if not isinstance(value, dict):
        raise _damaged(where, "it is no JSON object")
    return value


def _check_schema(value: dict[str, Any], where: str) -> None:
    schema = value.get("schema")
    if isinstance(schema, int) and schema > SCHEMA:
        raise NewerSchema(
            "The checkpoint was written by a newer paceline.",
            got=f"schema {schema} in {where}, written by paceline {value.get('paceline', '?')}",
            expected=f"schema {SCHEMA}",
            fix="read it with the paceline that wrote it, or a newer one",
        )
    if schema != SCHEMA:
        raise _damaged(where, "it has no known schema")


def _manifest(value: dict[str, Any]) -> Manifest:
    files = {name: _file(name, facts) for name, facts in value["files"].items()}
    if not files:
        raise ValueError("files")
    return Manifest(
        step=_whole(value, "step"),
        created=float(value["created"]),
        paceline=str(value["paceline"]),
        num_workers=_whole(value, "num_workers"),
        files=files,
        meta=dict(value["meta"]),
    )


def _file(name: str, facts: dict[str, Any]) -> FileFacts:
    if not is_state_name(name):
        raise ValueError(f"file {name!r}")
    if not _SHA256.fullmatch(facts["sha256"]):
        raise ValueError(f"sha256 of {name}")
    return FileFacts(bytes=_whole(facts, "bytes"), sha256=facts["sha256"])


def _whole(value: dict[str, Any], name: str) -> int:
    number = value[name]
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise ValueError(name)
    return number


def _damaged(where: str, why: str) -> CheckpointDamaged:
    return CheckpointDamaged("The manifest of a checkpoint cannot be read.", got=f"{where}: {why}", fix=_FIX)


def decode_run(content: bytes, where: str) -> dict[str, Any]:
    """Returns what `run.json` holds: which run a directory belongs to.

    Args:
        content: The file.
        where: Its path, for the error.

    Raises:
        CheckpointDamaged: It is no such file, or of a newer paceline.
    """
    value = _object(content, where)
    _check_schema(value, where)
    return value
