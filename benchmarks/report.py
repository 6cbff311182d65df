"""Text of docs/benchmarks.md: tables, verdicts, and putting new sections into what is there."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.spread import Spread

HEAD = """\
# Benchmarks

Made by `python benchmarks/run.py` (`make bench`); a part that was not run again stays as it was. Only what stands under
*Notes* is written by hand. The numbers of each round are in `benchmarks/results/`.

A number is the median over rounds, with the smallest and the largest in brackets. Contestants take turns (A B C A B C),
and ratios are taken round by round. Each worker has one core, and every contestant runs from its own file in
`benchmarks/contestants/`, the others without paceline.
"""

NOT_YET = "Not measured yet."
LOAD_LIMIT = 0.5
"""A machine with more running than this, on average over a minute, is not idle."""

_NOTES = ("<!-- notes: written by hand -->", "<!-- end of notes -->")


def number(value: float) -> str:
    """Returns `value` with three digits that count, and commas.

    >>> [number(v) for v in (58612.3, 4.368, 0.00412, 0)]
    ['58,600', '4.37', '0.00412', '0']
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits = 2 - math.floor(math.log10(abs(value)))
    return f"{round(value, digits):,.{max(digits, 0)}f}"


def show(found: Spread | None, unit: str = "") -> str:
    """Returns a spread for a cell of a table.

    >>> show(Spread(median=4.0, low=3.5, high=5.25, count=3), " ms")
    '4.00 ms (3.50-5.25)'
    """
    if found is None:
        return "-"
    return f"{number(found.median)}{unit} ({number(found.low)}-{number(found.high)})"


def verdict(found: Spread | None, *, at_least: float | None = None, at_most: float | None = None) -> str:
    """Returns whether a median reaches what is wanted.

    >>> verdict(Spread(median=7.5, low=7, high=8, count=3), at_least=7)
    'yes'
    """
    if found is None:
        return "not measured"
    low_enough = at_most is None or found.median <= at_most
    return "yes" if low_enough and (at_least is None or found.median >= at_least) else "**no**"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a Markdown table; `|` in a cell is kept from ending it."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def section(title: str, body: str, data: Mapping[str, Any]) -> str:
    """Returns a section without its notes: title, what it was measured on and how, and `body`.

    Args:
        title: Title of the section.
        body: Tables and the notes that are always true.
        data: What the results file holds: `machine`, `command` and `rounds` are read.
    """
    machine = data["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    load = machine["load_before"]
    busy = f"\n**The machine was not idle: load {load} before the first run.**\n" if load > LOAD_LIMIT else ""
    idle = f" {machine['idle']}" if machine.get("idle") else ""
    memory = f"{machine['memory_gib']} GiB"
    return (
        f"## {title}\n\n"
        f"{machine['date']}, {machine['cpu']}, {machine['num_cores']} cores, {memory}; {versions}.\n"
        f"Load before: {load}. Rounds: {data['rounds']}.{idle} Command:\n\n"
        f"    {data['command']}\n{busy}\n{body.strip()}\n"
    )


def compact_json(data: Mapping[str, Any]) -> str:
    """Returns JSON with lists of numbers on one line and six digits a number: for people who read the differences."""
    text = json.dumps(_rounded(data), indent=1, ensure_ascii=False)
    # Lists without lists in them; a line ends in no string of JSON.
    return re.sub(r"\[\n([^\[\]{}\"]*)\]", lambda found: f"[{' '.join(found.group(1).split())}]", text) + "\n"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, Mapping):
        return {key: _rounded(inner) for key, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, list) else value


def merge(existing: str, sections: Mapping[str, str], titles: Mapping[str, str]) -> str:
    """Returns the whole page: new sections, old ones where there is no new one, and everybody's notes.

    Args:
        existing: The page as it is; may be empty.
        sections: New text by name.
        titles: All names, in their order, with the title of one that was never measured.
    """
    parts = [HEAD]
    for name, title in titles.items():
        old, notes = _split(_find(existing, name))
        text = sections.get(name) or old or f"## {title}\n\n{NOT_YET}\n"
        begin, end = _NOTES
        own = f"{notes.strip()}\n" if notes.strip() else ""
        parts.append(
            f"<!-- begin: {name} -->\n{text.strip()}\n\n### Notes\n\n{begin}\n{own}{end}\n<!-- end: {name} -->\n"
        )
    return "\n".join(parts)


def _find(existing: str, name: str) -> str:
    found = re.search(f"<!-- begin: {name} -->\n(.*?)<!-- end: {name} -->", existing, re.DOTALL)
    return found.group(1) if found else ""


def _split(text: str) -> tuple[str, str]:
    """Returns what was made, and what was written by hand."""
    made, _, rest = text.partition("\n### Notes\n\n" + _NOTES[0])
    return made, rest.partition(_NOTES[1])[0]
