"""One row of the table of known lines, and how much a line says."""

from __future__ import annotations

import enum
import functools
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from paceline.failures.needles import needles_of


class Kind(str, enum.Enum):
    """How much a line says about why a job failed."""

    CAUSE = "cause"
    CONSEQUENCE = "consequence"
    NOISE = "noise"


@dataclass(frozen=True)
class Row:
    """A known line.

    Attributes:
        name: Short and unique, with hyphens.
        kind: Whether such a line is a cause, a consequence of another failure, or noise.
        pattern: Searched for in one line. Its named groups may stand in ``meaning`` and ``fix`` as ``{host}``.
        meaning: What has happened, in one or two sentences.
        fix: What to do: one line that can be pasted, or one action; empty for noise.
        source: Where it is told of: the address of a thread or of a page.
        is_general: Whether more particular rows may know its lines too; those stand before it.
    """

    name: str
    kind: Kind
    pattern: str
    meaning: str
    fix: str
    source: str
    is_general: bool = False

    @functools.cached_property
    def needles(self) -> tuple[str, ...]:
        """Texts of which every line that matches holds one; empty where the pattern promises none."""
        return needles_of(self.pattern)

    @functools.cached_property
    def regex(self) -> re.Pattern[str]:
        """The pattern, compiled when it is first needed."""
        return re.compile(self.pattern)

    def search(self, line: str) -> re.Match[str] | None:
        """Returns where the pattern stands in a line."""
        if self.needles and not any(needle in line for needle in self.needles):
            return None
        return self.regex.search(line)


def fill(template: str, groups: Mapping[str, str | None]) -> str:
    """Returns a row's text with what was found in the line.

    >>> fill("port {port} on {host} is taken", {"port": "80", "host": None})
    'port 80 on ? is taken'
    """
    found: defaultdict[str, str] = defaultdict(lambda: "?")
    found.update({key: value for key, value in groups.items() if value})
    return template.format_map(found)
