"""``paceline tune``: measure how workers sum fastest here, and keep it for ``paceline run``."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import click

from paceline.launch.options import RunOptions
from paceline.launch.sweep import COMMUNICATIONS, SweepOptions, sweep
from paceline.tuning import cache
from paceline.tuning.choice import RULE, Measured, bus_bandwidth, choose, mean_times


@click.command()
@click.option("--workers", "num_workers", type=int, default=2, show_default=True, metavar="N", help="Processes.")
@click.option(
    "--communication", type=click.Choice(COMMUNICATIONS), default="all", show_default=True, help="What to measure."
)
@click.option("--quick", "is_quick", is_flag=True, help="Three sizes, each measured once.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(*, as_json: bool, **options: Any) -> None:
    """Measure how N workers on this machine sum fastest, from 4 B to 64 MB, on CPUs.

    Each way is measured in jobs of its own; the machine should do nothing else meanwhile. The best tuning
    of RING is kept in the person's cache, and paceline run takes it from there where as many workers sum over RING.
    """
    sweep_options = SweepOptions(**options)
    _check_versions()
    facts = importlib.import_module("paceline.launch.facts")
    folder = cache.make_folder(os.environ)  # before minutes are spent
    run: Callable[[RunOptions], int] = importlib.import_module("paceline.launch.local").run
    results = sweep(sweep_options, run, lambda text: click.echo(f"paceline: {text}", err=True))
    record = cache.Record(
        site=facts.site(),
        num_workers=sweep_options.num_workers,
        results=results,
        choice=choose(results),
        measured=datetime.now().astimezone().isoformat(timespec="seconds"),
        is_quick=sweep_options.is_quick,
    )
    path = None if record.choice is None else folder / record.site.file_name(record.num_workers)
    if as_json:
        click.echo(json.dumps({**record.to_json(), "file": None if path is None else str(path)}, indent=2))
    else:
        click.echo("\n".join(lines(record)))
    if path is not None:
        cache.store(path, record)
    if not as_json:
        click.echo(f"kept in {path}" if path else "nothing is kept: only RING is tuned, and it was not measured")


def _check_versions() -> None:
    from paceline.cli.run import check_versions

    check_versions(RunOptions(target="paceline.collectives.sweep", module=True))


def lines(record: cache.Record) -> list[str]:
    """Returns what was measured, and what was chosen, for a person."""
    results, choice, num_workers = record.results, record.choice, record.num_workers
    names = _names(results)
    means = iter(mean_times([result for result in results if result.contestant.tuning is not None]))
    contestants = []
    for name, result in zip(names, results, strict=True):
        tuning = result.contestant.tuning
        mean = "" if tuning is None else f"{next(means):.2f}"
        mark = "<- chosen" if choice is not None and tuning == choice.tuning else ""
        contestants.append((name, str(tuning or ""), mean, mark))
    sizes = list(results[0].times_s)
    times = [(_size(size), *(_time(r.times_s[size]) for r in results)) for size in sizes]
    bandwidths = [
        (_size(size), *(_rate(bus_bandwidth(size, r.times_s[size], num_workers)) for r in results)) for size in sizes
    ]
    how = "measured once" if record.is_quick else "the median, the lesser of two turns"
    text = [f"sums of float32 over {num_workers} workers on {', '.join(record.site.hosts)}", ""]
    text += _table([("", "", "mean", ""), *contestants], left=(0, 1, 3))
    text += [
        "",
        f"time of one sum: the slowest worker's, {how}",
        *_table([("size", *names), *times]),
    ]
    text += ["", "bus bandwidth, 2(N-1)/N x size / time", *_table([("size", *names), *bandwidths]), ""]
    if choice is not None:
        text += [f"chosen: {choice.tuning}: {choice.reason}", f"rule: {RULE}"]
    return text


def _names(results: Sequence[Measured]) -> list[str]:
    """Returns short names: ring 1, ring 2, ..., mpi."""
    names, number = [], 0
    for result in results:
        number += result.contestant.tuning is not None
        names.append(f"ring {number}" if result.contestant.tuning is not None else result.contestant.transport)
    return names


def _table(rows: Sequence[Sequence[str]], left: Sequence[int] = ()) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _size(size_bytes: int) -> str:
    for unit, name in ((2**20, "MB"), (2**10, "kB")):
        if size_bytes >= unit:
            return f"{size_bytes / unit:g} {name}"
    return f"{size_bytes} B"


def _time(time_s: float) -> str:
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if time_s >= unit:
            return f"{time_s / unit:.3g} {name}"
    return f"{time_s / 1e-6:.3g} us"


def _rate(bytes_per_s: float) -> str:
    for unit, name in ((1e9, "GB/s"), (1e6, "MB/s")):
        if bytes_per_s >= unit:
            return f"{bytes_per_s / unit:.3g} {name}"
    return f"{bytes_per_s / 1e3:.3g} kB/s"
