"""Says, once each, what was decided about a model's training that its script did not ask for."""

from __future__ import annotations

import sys
from collections.abc import Callable

_told: set[str] = set()
_tell: list[Callable[[str], None]] = [lambda line: print(f"paceline: {line}", file=sys.stderr)]


def install(tell: Callable[[str], None]) -> None:
    """Sets who shows a person one line. Once per worker."""
    _tell[:] = [tell]


def tell(text: str) -> None:
    """Shows one line, the first time that it is said. Collective: no."""
    if text not in _told:
        _told.add(text)
        _tell[0](text)
