"""`python -m paceline.repairs`: lists the repairs, or runs a witness on the stock versions."""

from __future__ import annotations

import argparse
import json
import sys
from importlib import metadata

from paceline.repairs.registry import NAMES, load


def main() -> int:
    """Prints the list, or the verdicts of witnesses as JSON: name -> whether stock has the fault."""
    parser = argparse.ArgumentParser(prog="python -m paceline.repairs", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print a JSON list")
    parser.add_argument("--witness", nargs="+", metavar="NAME", choices=NAMES, help="run these witnesses")
    arguments = parser.parse_args()
    if arguments.witness:
        print(json.dumps({name: load(name).witness() for name in arguments.witness}))
        return 0
    rows = _rows()
    if arguments.json:
        print(json.dumps(rows))
        return 0
    for row in rows:
        print(f"{'active ' if row['active'] else 'idle   '} {row['name']}: {row['title']}\n         {row['thread']}")
    return 0


def _rows() -> list[dict[str, object]]:
    try:
        version = metadata.version("keras")
    except metadata.PackageNotFoundError:
        version = ""
    rows: list[dict[str, object]] = []
    for name in NAMES:
        repair = load(name)
        applies = bool(version) and repair.applies(version)
        first, last = repair.keras
        rows.append(
            {
                "name": name,
                "title": repair.title,
                "thread": repair.thread,
                "applies": f"Keras {first} to {last or 'today'}",
                "active": applies,
                "reason": f"Keras {version}" if version else "Keras is not installed",
                "mended_in": repair.mended_in,
            }
        )
    return rows


if __name__ == "__main__":
    sys.exit(main())
