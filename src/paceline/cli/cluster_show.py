"""``paceline cluster show``: the cluster that this process is in."""

from __future__ import annotations

import json

import click

from paceline.cluster.detect import Detected, detect


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(*, as_json: bool) -> None:
    """Show the cluster that this process is in, and where each fact came from."""
    detected = detect()
    if as_json:
        value = {"environment": detected.environment, **detected.spec.as_dict()}
        click.echo(json.dumps(value, indent=2))
    else:
        click.echo("\n".join(lines(detected)))


def lines(detected: Detected) -> list[str]:
    """Returns the cluster as a table for a person."""
    spec = detected.spec
    rows = [("rank", "role", "address", "")]
    for member in spec.members:
        rank = spec.rank_of(member.task)
        marks = [mark for mark, holds in (("chief", rank == 0), ("this process", member.task == spec.task)) if holds]
        address = member.address or "(no address needed)"
        rows.append(("-" if rank is None else str(rank), str(member.task), address, ", ".join(marks)))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    devices = "decided by paceline run" if spec.devices is None else ", ".join(spec.devices) or "none"
    facts = [f"devices: {devices}", *(f"{fact} from: {source}" for fact, source in spec.sources.items())]
    return [f"environment: {detected.environment}", "", *table, "", *facts]
