"""What a check says: one finding names one place, the fault, and the fix."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that was found.

    Attributes:
        severity: ``error`` (cannot work), ``warning`` (works, probably not as meant), ``info`` (good to know).
        code: A stable name for programs, such as ``duplicate-address``.
        where: The place: a path such as ``cluster.worker[1]``, with line and column where the text is JSON.
        text: What is wrong, one sentence.
        got: The offending value.
        expected: What would have been right.
        fix: What to write instead.
    """

    severity: Severity
    code: str
    where: str
    text: str
    got: str = ""
    expected: str = ""
    fix: str = ""

    def render(self) -> str:
        """Returns the text shown to a person: a headline, then one labelled line for each part that is known."""
        lines = [f"{self.severity}: {self.where}: {self.text}" if self.where else f"{self.severity}: {self.text}"]
        for label, text in (("got", self.got), ("expected", self.expected), ("fix", self.fix)):
            if text:
                lines.append(f"  {label + ':':<10}{text}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, str]:
        """Returns a value that json can write."""
        return asdict(self)


def errors_in(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Returns the findings that forbid a start."""
    return tuple(finding for finding in findings if finding.severity == "error")


def shown(value: Any, limit: int = 120) -> str:
    """Returns a value as JSON on one line, cut to a length that a terminal can take."""
    try:
        text = json.dumps(value, ensure_ascii=True)
    except (TypeError, ValueError, RecursionError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= limit else text[: limit - 3] + "..."


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """Returns the known word that is nearest to a misspelt one, or None.

    >>> did_you_mean("wroker", ["chief", "worker"])
    'worker'
    >>> did_you_mean("bananas", ["chief", "worker"]) is None
    True
    """
    close = difflib.get_close_matches(word[:64].lower(), list(known), n=1, cutoff=0.6)
    return close[0] if close else None
