"""``paceline checkpoint verify``: every byte compared with its checksum."""

from __future__ import annotations

import json

import click

from paceline.checkpoint_dir.examine import Depth, Entry, Examination
from paceline.checkpoint_dir.target import target_of
from paceline.cli.checkpoint_text import look, size
from paceline.errors import EXIT_DAMAGED, ConfigurationRefused


@click.command()
@click.argument("path", metavar="DIR[/CHECKPOINT]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(path: str, *, as_json: bool) -> int:
    """Compare every byte with its checksum.

    Ends with 0 where all checkpoints are whole, with 1 where one is damaged, unreadable or unfinished, and with 78
    where there is none.
    """
    target = target_of(path)
    found = look(target, Depth.SUMS)
    if not found.checkpoints and not found.run_fault:
        raise ConfigurationRefused(
            "There is nothing to verify.",
            got=f"no checkpoint in {found.root}",
            expected="step-000000001200/ and its like",
        )
    if as_json:
        keys = ("name", "kind", "number", "state", "fault", "num_bytes")
        results = [{key: getattr(entry, key) for key in keys} for entry in found.checkpoints]
        value = {"ok": _ok(found), "root": found.root, "run_fault": found.run_fault, "checkpoints": results}
        click.echo(json.dumps(value, indent=2))
    else:
        click.echo("\n".join(lines(found)))
    return 0 if _ok(found) else EXIT_DAMAGED


def lines(found: Examination) -> list[str]:
    """Returns the verdict for a person."""
    text = [_line(entry) for entry in found.checkpoints]
    if found.run_fault:
        text.append(f"damaged   run.json: {found.run_fault}")
    bad = sum(not entry.is_good for entry in found.checkpoints)
    good = len(found.checkpoints) - bad
    return [*text, f"{found.root}: {good} good, {bad} not" + (", run.json not" if found.run_fault else "")]


def _line(entry: Entry) -> str:
    if entry.is_good:
        return f"good      {entry.name}  {size(entry.num_bytes)}"
    return f"{entry.state:<10}{entry.name}: {entry.fault}"


def _ok(found: Examination) -> bool:
    return not found.run_fault and all(entry.is_good for entry in found.checkpoints)
