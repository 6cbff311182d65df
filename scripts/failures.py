"""Writes docs/failures.md from the table of known lines: ``python scripts/failures.py``."""

from __future__ import annotations

import sys
from pathlib import Path

from paceline.failures.row import Kind, Row
from paceline.failures.table import FAMILIES

TARGET = Path(__file__).resolve().parents[1] / "docs" / "failures.md"

HEAD = """\
# Known failures

Made by `python scripts/failures.py` from `src/paceline/failures/`; do not edit it. `paceline explain LOGFILE` looks
for these lines.
A *cause* may be why a job failed; a *consequence* is what others saw of it; *noise* says nothing and is skipped.
`<words>` are taken from the line.
"""


def main() -> int:
    """Writes the page."""
    TARGET.write_text(page(), encoding="utf-8")
    return 0


def page() -> str:
    """Returns the page, a table a family."""
    parts = [HEAD]
    for family, rows in FAMILIES.items():
        parts.append(f"\n## {family}\n\n| name | kind | what it means | what to do |\n|---|---|---|---|\n")
        parts.extend(_line(row) for row in rows)
    return "".join(parts)


def _line(row: Row) -> str:
    source = f" ([source]({row.source}))" if row.source.startswith("https://") else ""
    fix = f"{_cell(row.fix)}" if row.kind is not Kind.NOISE else ""
    return f"| `{row.name}` | {row.kind.value} | {_cell(row.meaning)}{source} | {fix} |\n"


def _cell(text: str) -> str:
    return text.replace("<", "&lt;").replace("{", "`<").replace("}", ">`").replace("|", "\\|").replace("*", "\\*")


if __name__ == "__main__":
    sys.exit(main())
