"""What a repair is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Repair:
    """One fault of Keras or TensorFlow and its repair.

    Attributes:
        title: What goes wrong, as a person meets it.
        thread: Where it was reported, or the source file where it was read.
        keras: First and last Keras version known to have it, `None` for open ends.
        mended_in: The module of paceline that mends it.
        witness: Returns whether the stock versions installed here have the fault; runs in a
            process of its own with two logical CPU devices and no paceline hooks.
    """

    title: str
    thread: str
    keras: tuple[str, str | None]
    mended_in: str
    witness: Callable[[], bool]

    def applies(self, keras_version: str) -> bool:
        """Returns whether the installed Keras has the fault, as far as is known.

        >>> Repair(title="", thread="", keras=("3.5", None), mended_in="", witness=bool).applies("3.15.1")
        True
        """
        first, last = self.keras
        version = _numbers(keras_version)
        return _numbers(first) <= version and (last is None or version <= _numbers(last))


def _numbers(version: str) -> tuple[int, ...]:
    parts = []
    for part in version.split("."):
        digits = "".join(c for c in part if c.isdigit())
        parts.append(int(digits or 0))
    return tuple(parts)
