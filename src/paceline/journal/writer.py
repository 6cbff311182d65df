"""Appends the events of one worker to its journal."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from paceline.journal.events import SCHEMA_VERSION

_HEAD = ("v", "t", "rank", "kind", "lost")


class JournalWriter:
    """Appends one JSON object a line, each with a single ``write``: several threads may call.

    A journal never ends a training: when the disk is full, or the file cannot be opened, one warning goes to
    stderr and events are counted as lost; the next event that can be written carries the number in ``lost``.

    Args:
        path: The file, created or appended to.
        rank: This worker's rank.
    """

    def __init__(self, path: str | os.PathLike[str], rank: int) -> None:
        self._path = os.fspath(path)
        self._rank = rank
        self._lost = 0
        self._torn = False
        self._warned = False
        self._descriptor = -1
        try:
            self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            self._warn(error)

    @property
    def rank(self) -> int:
        """The rank whose events these are."""
        return self._rank

    def event(self, kind: str, **fields: Any) -> None:
        """Appends one event.

        Args:
            kind: One of ``journal.events.KINDS``.
            fields: Whatever JSON can hold; array scalars become numbers, anything else its text.
        """
        record = {"v": SCHEMA_VERSION, "t": time.time(), "rank": self._rank, "kind": kind, **fields}
        if self._lost:
            record["lost"] = self._lost
        self._append(_encode(record))

    def close(self) -> None:
        """Closes the file; later events are dropped silently."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _append(self, data: bytes) -> None:
        if self._descriptor < 0:
            self._lost += 1
            return
        # After a write that the disk took only half of, start on a line of our own.
        data = b"\n" + data if self._torn else data
        try:
            written = os.write(self._descriptor, data)
        except OSError as error:
            self._lost += 1
            self._warn(error)
            return
        self._torn = written < len(data)
        self._lost = self._lost + 1 if self._torn else 0

    def _warn(self, error: OSError) -> None:
        if not self._warned:
            self._warned = True
            print(f"paceline: events are not recorded: {self._path}: {error.strerror}", file=sys.stderr)


def _encode(record: dict[str, Any]) -> bytes:
    try:
        line = json.dumps(record, ensure_ascii=False, default=_plain, skipkeys=True)
    except (ValueError, RecursionError):  # something that contains itself
        line = json.dumps({key: value if key in _HEAD else repr(value) for key, value in record.items()})
    # A lone surrogate becomes its own JSON escape.
    return line.encode("utf-8", "backslashreplace") + b"\n"


def _plain(value: object) -> object:
    """Returns something JSON knows: array scalars and small arrays by ``tolist``, else the text."""
    convert = getattr(value, "tolist", None) or getattr(value, "item", None)
    if callable(convert):
        try:
            return convert()
        except (TypeError, ValueError):
            pass
    return str(value)
