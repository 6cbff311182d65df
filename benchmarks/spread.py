"""Numbers of several rounds: median and spread, ratios and differences round by round."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

Values = Sequence[float | None]
"""One number a round; ``None`` where the run failed."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Median, smallest and largest of `count` numbers."""

    median: float
    low: float
    high: float
    count: int


def spread(values: Iterable[float | None]) -> Spread | None:
    """Returns the spread of what was measured, or ``None`` where nothing was.

    >>> spread([3.0, None, 1.0, 2.0])
    Spread(median=2.0, low=1.0, high=3.0, count=3)
    """
    measured = [value for value in values if value is not None]
    if not measured:
        return None
    return Spread(median=statistics.median(measured), low=min(measured), high=max(measured), count=len(measured))


def by_round(function: Callable[..., float], *series: Values) -> list[float | None]:
    """Returns `function` of each round's numbers; ``None`` for a round in which one of them is missing.

    Contestants of one round ran within minutes of each other: what the machine did meanwhile cancels out.

    >>> by_round(lambda a, b: a / b, [6.0, 8.0], [3.0, None])
    [2.0, None]
    """
    rounds = zip(*series, strict=True)
    return [None if any(v is None for v in values) else function(*values) for values in rounds]


def best(series: dict[str, Values]) -> str | None:
    """Returns the key with the largest median, or ``None`` where nothing was measured.

    >>> best({"a": [1.0, 2.0], "b": [5.0, None], "c": [None, None]})
    'b'
    """
    medians = {key: found.median for key, values in series.items() if (found := spread(values))}
    return max(medians, key=lambda key: medians[key]) if medians else None
