"""``paceline checkpoint show``: one checkpoint."""

from __future__ import annotations

import json

import click

from paceline.checkpoint_dir.examine import Depth, Entry
from paceline.checkpoint_dir.target import target_of
from paceline.cli.checkpoint_text import age, chosen, look, moment, size, table
from paceline.errors import CheckpointDamaged

_META_WIDTH = 100


@click.command()
@click.argument("path", metavar="DIR[/CHECKPOINT]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(path: str, *, as_json: bool) -> None:
    """Show one checkpoint: files, tensors, what belongs to it.

    Of a directory the newest complete one.
    """
    target = target_of(path)
    found = look(target, Depth.HEADERS)
    entry = chosen(target, found)
    if not entry.is_good:
        raise CheckpointDamaged(
            f"The checkpoint is {entry.state}.",
            got=f"{found.root}/{entry.name}: {entry.fault}",
            fix=f"paceline checkpoint ls {found.root}",
        )
    if as_json:
        [value] = (it for it in found.as_dict()["entries"] if it["name"] == entry.name)
        click.echo(json.dumps({"root": found.root, **value}, indent=2))
    else:
        click.echo("\n".join(lines(found.root, entry)))


def lines(root: str, entry: Entry) -> list[str]:
    """Returns the checkpoint for a person."""
    text = [
        f"checkpoint  {root}/{entry.name}",
        f"written     {moment(entry.created)} ({age(entry.created)} ago) by paceline {entry.paceline}",
        f"workers     {entry.num_workers}",
        f"size        {size(entry.num_bytes)} in {len(entry.files)} file{'' if len(entry.files) == 1 else 's'}",
    ]
    for key, value in entry.meta.items():
        shown = json.dumps(value)
        text.append(f"meta        {key}: {shown if len(shown) <= _META_WIDTH else shown[:_META_WIDTH] + ' ...'}")
    rows = [("tensor", "dtype", "shape", "size")]
    rows += [
        (name, str(facts["dtype"]), "x".join(map(str, facts["shape"])) or "scalar", size(facts["bytes"]))
        for name, facts in sorted(entry.tensors.items())
    ]
    return [*text, "", *table(rows)]
