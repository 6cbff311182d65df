"""``paceline checkpoint``: what lies in a checkpoint directory."""

from __future__ import annotations

import click

from paceline.cli.lazy import Entry, LazyGroup

COMMANDS = {
    "ls": Entry("paceline.cli.checkpoint_ls", "List checkpoints: step, age, size, state."),
    "show": Entry("paceline.cli.checkpoint_show", "Show one checkpoint: files, tensors, what belongs to it."),
    "verify": Entry("paceline.cli.checkpoint_verify", "Compare every byte with its checksum."),
    "convert": Entry("paceline.cli.checkpoint_convert", "Write a checkpoint as a file that others read."),
}


@click.group(cls=LazyGroup, table=COMMANDS)
def command() -> None:
    """List, show, verify or convert checkpoints.

    DIR is a checkpoint directory (--checkpoint-dir of paceline run), a checkpoint in it (DIR/step-000000001200), or a
    run directory.
    """
