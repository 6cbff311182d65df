"""``paceline explain``: say of a log or a run directory which worker failed first and why."""

from __future__ import annotations

import importlib
import json
from typing import Any

import click

_NOT_FOUND = 1


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="LOGFILE|RUNDIR...")
@click.option("--attempt", type=click.IntRange(min=0), metavar="K", help="Of a run directory: which attempt.  [last]")
@click.option("--all", "shows_all", is_flag=True, help="List everything that was recognised, noise too.")
@click.option(
    "--limit",
    "limit_s",
    type=click.FloatRange(min=0.0),
    default=120.0,
    show_default=True,
    metavar="SECONDS",
    help="How long logs are read; then only their end.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(*, names: tuple[str, ...], attempt: int | None, shows_all: bool, limit_s: float, as_json: bool) -> int:
    """Say which worker failed first and why, with the fix, from what a job has printed.

    LOGFILE is any text, of paceline or not, of one worker or of several with prefixes ([1], 1:, worker 1 |);
    gzip too; - is standard input. RUNDIR is what paceline run has made.
    Ends with 0 where a cause was found, else with 1.
    """
    sources: Any = importlib.import_module("paceline.explain.sources")
    explanation = sources.explain(names, attempt=attempt, limit_s=limit_s)
    if as_json:
        click.echo(json.dumps(explanation.to_json(), indent=2))
    else:
        text: Any = importlib.import_module("paceline.explain.text")
        click.echo("\n".join(text.lines_of(explanation, shows_all=shows_all)))
    return 0 if explanation.is_found else _NOT_FOUND
