"""The article's CNN on small images: how well paceline scales where a step is long, and where it is short."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks import contest
from benchmarks.contest import Contestant, Series, Settings
from benchmarks.processes import Process
from benchmarks.report import show, table, verdict
from benchmarks.spread import by_round, spread

TITLE = "The article's CNN, scaling efficiency"
EFFICIENCY = {16: 0.97, 1: 0.85}
"""Efficiency wanted of two workers, by images per worker."""
_STEPS = {16: 20, 1: 100}
_OURS = ("mpi", "ring", "together")

_BODY = """\
Two convolutions (64 and 128 filters), global average pooling, Dropout, Dense(1000), Adam, on 64x64x3 images. Efficiency
is the rate of two workers over twice the rate of one worker with as many images.

{rates}
{targets}
- "Two at the same time" are two jobs of one worker that know nothing of each other: what the machine allows without any
  communication.
"""


def plan(settings: Settings) -> list[Contestant]:
    """Returns the contestants in the order of a round."""
    result = []
    for rows, steps in _STEPS.items():
        for suffix, name, options in settings.variants():
            end = f", {rows} images a worker{name}"
            env = contest.amount(settings, model="cnn", rows=rows, steps=steps, epochs=6)
            two = {**env, "BENCH_WORKERS": "2"}
            mpi, ring = ("--communication", "mpi", *options), ("--communication", "ring", *options)
            each = [contest.paceline("keras_script.py", 1, options, core=core) for core in range(2)]
            result += [
                _ours(f"one_{rows}{suffix}", "one worker" + end, each[0], env),
                _ours(f"mpi_{rows}{suffix}", "MPI" + end, contest.paceline("keras_script.py", 2, mpi), two),
                _ours(f"ring_{rows}{suffix}", "RING" + end, contest.paceline("keras_script.py", 2, ring), two),
                _ours(f"together_{rows}{suffix}", "two at the same time" + end, (*each[0], *each[1]), env),
            ]
    return result


def _ours(key: str, title: str, processes: tuple[Process, ...], env: dict[str, str]) -> Contestant:
    packages = ("tensorflow", "keras", "paceline")
    return Contestant(key=key, title=title, processes=processes, packages=packages, env=env)


def measure(settings: Settings) -> dict[str, Series]:
    """Runs all contestants."""
    return contest.contest(plan(settings), settings.rounds, lambda outcome: contest.total_rate(outcome.results))


def render(series: Mapping[str, Series], _extra: Mapping[str, Any]) -> str:
    """Returns the section's text."""
    rates = [[s.title, show(spread(s.values)), s.state()] for s in series.values()]
    return _BODY.format(
        rates=table(["paceline", "images/s", "remark"], rates),
        targets=table(["paceline", "efficiency", "wanted", "reached"], efficiency_rows(series)),
    )


def efficiency_rows(series: Mapping[str, Series]) -> list[list[str]]:
    """Returns a row for everything that is compared with one worker; a target is MPI's, paceline's own choice here."""
    rows = []
    for key, mine in series.items():
        ours, _, end = key.partition("_")
        one = series.get(f"one_{end}")
        if ours not in _OURS or one is None or len(one.values) != len(mine.values):
            continue
        found = spread(by_round(lambda b, a: b / (2 * a), mine.values, one.values))
        wanted = EFFICIENCY[int(end.split("_")[0])] if ours == "mpi" else None
        reached = verdict(found, at_least=wanted) if wanted else ""
        rows.append([mine.title, show(found), f">= {wanted:.0%}" if wanted else "", reached])
    return rows
