"""A group of commands that are imported when they are used."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of a table of commands.

    Attributes:
        module: The module whose ``command`` it is.
        summary: The line that ``--help`` of the group shows, without importing the module.
    """

    module: str
    summary: str


class LazyGroup(click.Group):
    """A click group made from a table of names and modules.

    Args:
        table: Name -> entry, in the order of the help text.
    """

    def __init__(self, *args: Any, table: Mapping[str, Entry], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns the names of all commands, in the order of the table."""
        del ctx
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Returns one command; imports its module."""
        del ctx
        entry = self.table.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = importlib.import_module(entry.module).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Returns the command that the arguments name, or says which was probably meant."""
        name = args[0]
        if name not in self.table and not name.startswith("-"):
            close = difflib.get_close_matches(name, self.table, n=1)
            hint = f"did you mean {close[0]!r}?" if close else "one of " + ", ".join(self.table)
            ctx.fail(f"there is no command {name!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the list of commands from the table alone."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in self.table.items()])
