"""JSON in which every value knows its line and column, and a key that is given twice is seen.

The standard decoder does the reading, so that what is accepted is what TensorFlow accepts;
a second walk over the text (known to be valid by then) only notes where each value begins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]  # in CPython since 2.6, missing in typeshed
from typing import Any

Path = tuple[str | int, ...]
"""Keys and list positions that lead from the root to a value."""

_SPACE = re.compile(r"[ \t\n\r]*")
_SCALAR = re.compile(r"[^\s,\]}]+")
_DECODER = json.JSONDecoder()
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A decoded JSON text.

    Attributes:
        value: What ``json.loads`` returns.
        text: The text itself.
        offsets: Where each value begins; empty where the value did not come from JSON.
        repeated: Paths of keys that are given more than once; the last one wins.
    """

    value: Any
    text: str
    offsets: dict[Path, int]
    repeated: tuple[Path, ...]

    def where(self, path: Path) -> str:
        """Returns the place of a value (or, of a value that is missing, of its parent) for a person."""
        known = path
        while known and known not in self.offsets:
            known = known[:-1]
        name = path_text(path)
        if known not in self.offsets:
            return name
        position = line_and_column(self.text, self.offsets[known])
        return f"{name} ({position})" if name else position


def path_text(path: Path) -> str:
    """Returns a path as a person writes it.

    >>> path_text(("cluster", "worker", 1))
    'cluster.worker[1]'
    >>> path_text(("cluster", "my job"))
    'cluster["my job"]'
    """
    parts: list[str] = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif _NAME.match(step):
            parts.append(f".{step}" if parts else step)
        else:
            parts.append(f"[{json.dumps(step)[:66]}]")
    return "".join(parts)


def line_and_column(text: str, offset: int) -> str:
    """Returns ``line L, column C``, both counted from 1."""
    line = text.count("\n", 0, offset) + 1
    column = offset - text.rfind("\n", 0, offset)
    return f"line {line}, column {column}"


def read(text: str) -> Document:
    """Returns the decoded text with the position of every value.

    Raises:
        ValueError: The text is not JSON (``json.JSONDecodeError`` tells where), or holds a number too long to read.
        RecursionError: The text is nested too deeply.
    """
    value = json.loads(text)
    offsets: dict[Path, int] = {}
    repeated: list[Path] = []
    for path, offset in _walk(text, _skip(text, 0), ()):
        if path in offsets and path not in repeated:
            repeated.append(path)
        offsets[path] = offset
    topmost = tuple(path for path in repeated if not any(path[:n] in repeated for n in range(len(path))))
    return Document(value=value, text=text, offsets=offsets, repeated=topmost)


def _skip(text: str, offset: int) -> int:
    match = _SPACE.match(text, offset)
    return match.end() if match else offset


def _walk(text: str, offset: int, path: Path) -> Generator[tuple[Path, int], None, int]:
    """Yields each value's path and offset; returns the offset behind the value."""
    yield path, offset
    opening = text[offset]
    if opening == "{":
        end = yield from _walk_object(text, offset, path)
    elif opening == "[":
        end = yield from _walk_array(text, offset, path)
    elif opening == '"':
        _, end = scanstring(text, offset + 1, True)  # noqa: FBT003 - the decoder's own signature
    else:
        match = _SCALAR.match(text, offset)
        end = match.end() if match else offset + 1
    return end


def _walk_object(text: str, offset: int, path: Path) -> Generator[tuple[Path, int], None, int]:
    offset = _skip(text, offset + 1)
    while text[offset] != "}":
        key, offset = scanstring(text, offset + 1, True)  # noqa: FBT003 - the decoder's own signature
        offset = _skip(text, _skip(text, offset) + 1)
        offset = yield from _walk(text, offset, (*path, key))
        offset = _skip(text, offset)
        if text[offset] == ",":
            offset = _skip(text, offset + 1)
    return offset + 1


def _walk_array(text: str, offset: int, path: Path) -> Generator[tuple[Path, int], None, int]:
    offset = _skip(text, offset + 1)
    position = 0
    while text[offset] != "]":
        offset = yield from _walk(text, offset, (*path, position))
        position += 1
        offset = _skip(text, offset)
        if text[offset] == ",":
            offset = _skip(text, offset + 1)
    return offset + 1
