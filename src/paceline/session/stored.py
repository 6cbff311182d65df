"""Decisions of a run: made once, kept in its directory, and made alike when it is started again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from paceline.files import write_whole

SCHEMA_VERSION = 1


class StoredDecisions:
    """What `training.json` of a run holds; `decisions.json` beside it is the launcher's.

    Every worker reads it before its script runs; the chief writes it.

    Args:
        path: `RUN_DIR/training.json`.
        writes: Whether this worker writes: the chief does.
        tell: Shows a person one line.
        also: A second place, in the checkpoint directory, where a run of the same job finds them.
    """

    def __init__(self, path: Path, *, writes: bool, tell: Callable[[str], None], also: Path | None = None) -> None:
        self._path = path
        self._also = also
        self._writes = writes
        self._tell = tell
        self._earlier = self._read(path) or ({} if also is None else self._read(also))
        self._now = dict(self._earlier)

    def decide(self, name: str, value: Any, reason: str) -> tuple[Any, str]:
        """Returns what an earlier attempt decided, else `value` and `reason`, which are kept. Collective: no."""
        if name in self._earlier:
            kept = self._earlier[name]
            return kept["value"], f"{kept['reason']} (as this run began)"
        if self._now.get(name) != {"value": value, "reason": reason}:
            self._now[name] = {"value": value, "reason": reason}
            self._write()
        return value, reason

    def _write(self) -> None:
        if not self._writes:
            return
        for path in filter(None, (self._path, self._also)):
            try:
                write_whole(path, {"schema": SCHEMA_VERSION, "decisions": self._now})
            except OSError as error:  # only a later attempt needs it
                self._tell(f"{path} is not written: {error.strerror}; started again, the run may decide otherwise")

    def _read(self, path: Path) -> dict[str, Any]:
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            return self._ignored(path, f"it cannot be read: {error}")
        try:
            document = json.loads(text)
            if document["schema"] != SCHEMA_VERSION:
                return self._ignored(path, f"its schema is {document['schema']!r}, not {SCHEMA_VERSION}")
            return {
                str(name): {"value": kept["value"], "reason": str(kept["reason"])}
                for name, kept in document["decisions"].items()
            }
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            return self._ignored(path, f"it is damaged ({type(error).__name__}: {error})")

    def _ignored(self, path: Path, reason: str) -> dict[str, Any]:
        self._tell(f"{path} is ignored: {reason}; the run decides again")
        return {}
