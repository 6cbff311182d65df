"""Types of option values: durations, variables, lists of devices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]  # generic for type checkers since click 8.4, at run time not before
else:
    _ParamType = click.ParamType

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse_duration_s(text: str) -> float | None:
    """Returns a duration in seconds, or None where the text is none.

    >>> parse_duration_s("300"), parse_duration_s("5m"), parse_duration_s("1m30s"), parse_duration_s("soon")
    (300.0, 300.0, 90.0, None)
    """
    stripped = text.strip().lower()
    if re.fullmatch(r"\d+(\.\d+)?", stripped):
        return float(stripped)
    parts = _PART.findall(stripped)
    if not parts or "".join(number + unit for number, unit in parts) != stripped:
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


class Duration(_ParamType):
    """A time such as ``300``, ``300s``, ``5m`` or ``1m30s``, in seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Returns the seconds; fails with the forms that are known."""
        seconds = float(value) if isinstance(value, (int, float)) else parse_duration_s(str(value))
        if seconds is None:
            self.fail(f"{value!r} is not a time; write 300, 300s, 5m or 1m30s", param, ctx)
        return seconds


class DurationOrAuto(Duration):
    """A time, or ``auto``, which is None."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | None:  # type: ignore[override]  # click takes what comes
        """Returns the seconds, None for ``auto``."""
        return None if str(value).strip().lower() == "auto" else super().convert(value, param, ctx)


class Every(_ParamType):
    """How often: a time, a number of steps as in ``500steps``, or ``auto``."""

    name = "every"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float]:
        """Returns ``("auto", 0)``, ``("steps", n)`` or ``("seconds", s)``; RunOptions checks the number."""
        if isinstance(value, tuple):
            return value
        text = str(value).strip().lower()
        steps = re.fullmatch(r"(\d+)\s*steps?", text)
        if text == "auto":
            return ("auto", 0)
        if steps:
            return ("steps", int(steps[1]))
        seconds = parse_duration_s(text)
        if seconds is None:
            self.fail(f"{value!r} is neither a time nor a number of steps; write 5m, 500steps or auto", param, ctx)
        return ("seconds", seconds)


class Variable(_ParamType):
    """A variable ``NAME=VALUE``."""

    name = "name=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Returns (name, value); fails where there is no equals sign."""
        if isinstance(value, tuple):
            return value
        name, equals, text = str(value).partition("=")
        if not equals or not name:
            self.fail(f"{value!r} is not NAME=VALUE", param, ctx)
        return name, text


class Devices(_ParamType):
    """GPU ids separated by commas; an empty text is no GPU at all."""

    name = "ids"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Returns the ids; RunOptions checks what they are."""
        del param, ctx
        return value if isinstance(value, tuple) else tuple(p.strip() for p in str(value).split(",") if p.strip())
