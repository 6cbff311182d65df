"""What the commands of ``paceline checkpoint`` share: how a directory is looked at, and words for a person."""

from __future__ import annotations

import time
from collections.abc import Sequence

from paceline.checkpoint_dir.examine import Depth, Entry, Examination, examine
from paceline.checkpoint_dir.reader import LocalReader
from paceline.checkpoint_dir.target import Target
from paceline.errors import ConfigurationRefused

_UNITS = ("B", "kB", "MB", "GB", "TB")


def look(target: Target, depth: Depth) -> Examination:
    """Returns what lies in a directory, or of one checkpoint in it.

    Raises:
        ConfigurationRefused: It is no checkpoint directory, or cannot be read.
    """
    if target.is_remote:
        from paceline.cli.checkpoint_remote import examine_remote

        found = examine_remote(target, depth)
    else:
        try:
            found = examine(LocalReader(target.root), depth=depth, only=target.name)
        except OSError as error:
            raise ConfigurationRefused(
                "The checkpoint directory cannot be read.",
                got=f"{target.root}: {error.strerror}",
                fix=f"ls -la {target.root}",
            ) from error
    if target.name and not found.entries:
        raise ConfigurationRefused(
            "There is no such checkpoint.",
            got=f"{target.root}/{target.name}",
            fix=f"paceline checkpoint ls {target.root}",
        )
    if found.is_empty and found.strangers:
        raise ConfigurationRefused(
            "This is no checkpoint directory.",
            got=f"{target.root} holds {', '.join(found.strangers[:5])}{', ...' if len(found.strangers) > 5 else ''}",
            expected="step-000000001200/ and its like, run.json",
        )
    return found


def chosen(target: Target, found: Examination) -> Entry:
    """Returns the checkpoint that a path means: the one that it names, or the newest complete one.

    Raises:
        ConfigurationRefused: There is none.
    """
    steps = [entry for entry in found.checkpoints if target.name or entry.kind == "step"]
    good = [entry for entry in steps if entry.is_good]
    if good or (target.name and steps):
        return (good or steps)[-1]
    raise ConfigurationRefused(
        "There is no complete checkpoint.",
        got=f"{target.root} holds {len(steps)} that {'is' if len(steps) == 1 else 'are'} damaged or unfinished"
        if steps
        else f"{target.root} holds none",
        fix=f"paceline checkpoint ls {target.root}",
    )


def table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Returns rows as lines, in columns."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def size(num_bytes: float) -> str:
    """Returns a size as a person writes it.

    >>> size(584), size(98_100_000)
    ('584 B', '98.1 MB')
    """
    unit = 0
    while num_bytes >= 999.95 and unit < len(_UNITS) - 1:
        num_bytes, unit = num_bytes / 1000, unit + 1
    return f"{num_bytes:.0f} B" if unit == 0 else f"{num_bytes:.1f} {_UNITS[unit]}"


def age(created: float | None, now: float | None = None) -> str:
    """Returns how long ago something was written.

    >>> age(0.0, 90.0), age(0.0, 7300.0), age(0.0, 200_000.0), age(90.0, 0.0)
    ('90 s', '2 h', '2 d', 'in the future')
    """
    if created is None:
        return ""
    seconds = (time.time() if now is None else now) - created
    if seconds < -1:
        return "in the future"
    for limit, divisor, unit in ((120, 1, "s"), (7200, 60, "min"), (172800, 3600, "h")):
        if seconds < limit:
            return f"{max(0, int(seconds / divisor))} {unit}"
    return f"{int(seconds / 86400)} d"


def moment(created: float | None) -> str:
    """Returns when something was written, in local time."""
    return "" if created is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(created))
