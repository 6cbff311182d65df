"""``paceline checkpoint ls``: the checkpoints of a directory."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import Any

import click

from paceline.checkpoint_dir.examine import Depth, Entry, Examination
from paceline.checkpoint_dir.target import target_of
from paceline.cli.checkpoint_text import age, look, moment, size, table


@click.command()
@click.argument("path", metavar="DIR")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(path: str, *, as_json: bool) -> None:
    """List checkpoints: step, age, size, state.

    Looks at manifests and at the sizes of files; `verify` compares every byte.
    """
    found = look(target_of(path), Depth.SIZES)
    if as_json:
        short = replace(found, entries=tuple(replace(entry, meta={}) for entry in found.entries))
        click.echo(json.dumps(short.as_dict(), indent=2))
    else:
        click.echo("\n".join(lines(found)))


def lines(found: Examination) -> list[str]:
    """Returns the list for a person."""
    head = [f"directory: {found.root}"]
    if found.run is not None:
        head.append(f"run:       {_run(found.run)}")
    elif found.run_fault:
        head.append(f"run:       unknown: {found.run_fault}")
    if not found.entries:
        return [*head, "", "no checkpoint yet"]
    titles = ("checkpoint", "written", "age", "size", "workers", "state")
    text = [*head, "", *table([titles, *map(_row, found.entries)])]
    if found.strangers:
        text += ["", f"not of paceline: {', '.join(found.strangers)}"]
    return text


def _row(entry: Entry) -> tuple[str, ...]:
    state = entry.state + (f": {entry.fault}" if entry.fault else "")
    if entry.kind == "other" and entry.state == "unfinished":
        state = "being written, or left by a writer that ended"
    known = entry.created is not None
    return (
        entry.name,
        moment(entry.created),
        age(entry.created),
        size(entry.num_bytes) if known else "",
        str(entry.num_workers) if known else "",
        state,
    )


def _run(run: Any) -> str:
    script = run.get("script")
    name = ""
    if isinstance(script, dict):
        argv = script.get("argv")
        words = [str(script.get("target", "?")), *(map(str, argv) if isinstance(argv, list) else ())]
        name = " ".join(map(shlex.quote, words))
    return ", ".join(text for text in (name, str(run.get("state", "")), f"since {moment(run.get('created'))}") if text)
