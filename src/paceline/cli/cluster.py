"""``paceline cluster``: show or check who takes part."""

from __future__ import annotations

import click

from paceline.cli.lazy import Entry, LazyGroup

COMMANDS = {
    "show": Entry("paceline.cli.cluster_show", "Show the cluster that this process is in."),
    "check": Entry("paceline.cli.cluster_check", "Find what is wrong with a TF_CONFIG."),
}


@click.group(cls=LazyGroup, table=COMMANDS)
def command() -> None:
    """Show or check who takes part."""
