"""Writes docs/support.md from the results of the tests that are marked ``support``.

    pytest --support-json build/support.json
    python scripts/support.py build/support.json [MORE.json ...] docs/support.md

Features that are about jobs of several processes (no test claims them for one process) have a table of their own,
without the columns of one process.

A cell is ``works`` when every test that claims it passed, ``refused`` (with the reason) when the tests that
prove the refusal passed, ``fails`` when one failed, and ``never run`` when no test of it was executed.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

COLUMNS: tuple[tuple[str, str], ...] = (
    ("one-device", "none"),
    ("mirrored", "in-process"),
    ("mirrored", "nccl"),
    ("multi-worker", "mpi"),
    ("multi-worker", "ring"),
    ("multi-worker", "nccl"),
    ("parameter-server", "grpc"),
    ("tpu", "tpu"),
)
"""(strategy, transport) of each column; a test may claim no other."""

ONE_PROCESS = ("one-device", "mirrored", "tpu")
"""Strategies that a job of one process can have."""

HEAD = """\
# What works

Made by `make support` from the results of the tests; do not edit it. A row is a feature, a column a strategy and the
transport under it. No GPU and no TPU was at hand: what needs one has never run.

- **works**: every test of it passed.
- **refused**: a test proves that it is refused; the reason stands below.
- **fails**: a test of it failed.
- **never run**: no test of it was executed. It may work.
"""

Cell = tuple[str, str, str]


@dataclass(frozen=True, kw_only=True)
class Result:
    """One test's word on one cell.

    Attributes:
        cell: (feature, strategy, transport).
        outcome: ``passed``, ``failed``, ``skipped`` or ``never run``.
        refused: The reason of the refusal that the test proves, or an empty string.
    """

    cell: Cell
    outcome: str
    refused: str = ""


def parse(document: Mapping[str, object]) -> list[Result]:
    """Returns the results of a file that the tests have written.

    Raises:
        ValueError: The file is of another schema, or a result claims a column that does not exist.
    """
    results = document.get("results")
    if document.get("schema") != 1 or not isinstance(results, list):
        msg = f"results of schema 1 are expected, got {str(document)[:80]}"
        raise ValueError(msg)
    parsed = []
    for row in results:
        cell = (row["feature"], row["strategy"], row["transport"])
        if cell[1:] not in COLUMNS:
            msg = f"{row['test']} claims {cell[1:]}, which is no column: {COLUMNS}"
            raise ValueError(msg)
        parsed.append(Result(cell=cell, outcome=row["outcome"], refused=row.get("refused", "")))
    return parsed


def verdict(results: Sequence[Result]) -> tuple[str, str]:
    """Returns the word for one cell, and the reason of a refusal.

    Raises:
        ValueError: Some tests say that it works, others that it is refused.
    """
    if any(result.outcome == "failed" for result in results):
        return "fails", ""
    passed = [result for result in results if result.outcome == "passed"]
    if not passed:
        return "never run", ""
    reasons = sorted({result.refused for result in passed})
    if "" in reasons and len(reasons) > 1:
        msg = f"{passed[0].cell} both works and is refused ({reasons[1]})"
        raise ValueError(msg)
    return ("refused", "; ".join(reasons)) if reasons[0] else ("works", "")


def render(results: Sequence[Result]) -> str:
    """Returns the text of docs/support.md."""
    by_cell: dict[Cell, list[Result]] = defaultdict(list)
    for result in results:
        by_cell[result.cell].append(result)
    if not by_cell:
        return f"{HEAD}\nNo test is marked `support` yet.\n"
    training = {feature for feature, strategy, _ in by_cell if strategy in ONE_PROCESS}
    jobs = {feature for feature, _, _ in by_cell} - training
    several = tuple(column for column in COLUMNS if column[0] not in ONE_PROCESS)
    notes: list[str] = []
    parts = [
        f"## {title}\n\n{_table(sorted(features), columns, by_cell, notes)}\n"
        for title, features, columns in (("Training", training, COLUMNS), ("Jobs of several processes", jobs, several))
        if features
    ]
    if notes:
        reasons = "".join(f"{number}. {_escaped(reason)}\n" for number, reason in enumerate(notes, start=1))
        parts.append(f"## Reasons of refusal\n\n{reasons}")
    return "\n".join([HEAD, *parts])


def _table(
    features: Sequence[str],
    columns: Sequence[tuple[str, str]],
    by_cell: Mapping[Cell, Sequence[Result]],
    notes: list[str],
) -> str:
    """Returns one table; new reasons of refusal are added to `notes`."""
    lines = [
        "| feature | " + " | ".join(f"{strategy}, {transport}" for strategy, transport in columns) + " |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for feature in features:
        words = []
        for column in columns:
            word, reason = verdict(by_cell.get((feature, *column), []))
            if reason and reason not in notes:
                notes.append(reason)
            words.append(f"{word} ({notes.index(reason) + 1})" if reason else word)
        lines.append(f"| {_escaped(feature)} | " + " | ".join(words) + " |")
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def main(arguments: Sequence[str]) -> int:
    """Reads the results, writes the table."""
    if len(arguments) < len(("results", "table")):
        print("usage: support.py RESULTS.json [MORE.json ...] TABLE.md", file=sys.stderr)
        return 2
    *sources, target = (Path(argument) for argument in arguments)
    results = [result for source in sources for result in parse(json.loads(source.read_text(encoding="utf-8")))]
    target.write_text(render(results), encoding="utf-8")
    print(f"{target} written from {', '.join(map(str, sources))}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
