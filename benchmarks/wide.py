"""A model of 25 million parameters: how long the reduction of its gradients takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks import contest
from benchmarks.contest import Contestant, Series, Settings
from benchmarks.processes import Process
from benchmarks.report import show, table, verdict
from benchmarks.spread import Values, by_round, spread

TITLE = "25 million parameters, reduction time"
ROWS_A_WORKER = 32
AT_MOST = {"ring": 0.7, "mpi": 0.5}
"""Our reduction time over that of stock RING, wanted."""

_BODY = """\
Dense layers of 4096, 4096 and 1200, 25 million parameters and so 100 MB of gradients, SGD, {rows} rows for each worker.
Reduction time is the step of two workers less the step of one worker with as many rows, each with its own one-worker
step: paceline's with `--workers 1`, that of MultiWorkerMirrored with a cluster of one.

{steps}
{targets}
- What two workers take from each other's memory bandwidth counts as reduction here, for both sides alike.
- SGD, because its update is the shortest: a long update would only add noise to the difference.
"""


def plan(settings: Settings) -> list[Contestant]:
    """Returns the contestants in the order of a round."""
    env = contest.amount(settings, model="wide", rows=ROWS_A_WORKER, steps=10, epochs=5)
    two = {**env, "BENCH_WORKERS": "2"}
    result = []
    for suffix, name, options in settings.variants():
        mpi, ring = ("--communication", "mpi", *options), ("--communication", "ring", *options)
        one = contest.paceline("keras_script.py", 1, options, core=0)
        result += [
            _entry("one" + suffix, f"paceline, one worker{name}", one, env),
            _entry("mpi" + suffix, f"paceline, MPI{name}", contest.paceline("keras_script.py", 2, mpi), two),
            _entry("ring" + suffix, f"paceline, RING{name}", contest.paceline("keras_script.py", 2, ring), two),
        ]
    stock = [contest.ranks("keras_mwms.py", size) for size in (1, 2)]
    result += [
        _entry("stock1", "MultiWorkerMirrored, cluster of one", stock[0], env),
        _entry("stock2", "MultiWorkerMirrored, RING", stock[1], env),
    ]
    return result


def _entry(key: str, title: str, processes: tuple[Process, ...], env: dict[str, str]) -> Contestant:
    packages = ("tensorflow", "keras") if key.startswith("stock") else ("tensorflow", "keras", "paceline")
    return Contestant(key=key, title=title, processes=processes, packages=packages, env=env)


def measure(settings: Settings) -> dict[str, Series]:
    """Runs all contestants."""
    return contest.contest(plan(settings), settings.rounds, lambda outcome: contest.total_rate(outcome.results))


def render(series: Mapping[str, Series], _extra: Mapping[str, Any]) -> str:
    """Returns the section's text."""
    steps = [[s.title, show(spread(_step_ms(key, s.values))), s.state()] for key, s in series.items()]
    return _BODY.format(
        rows=ROWS_A_WORKER,
        steps=table(["contestant", "ms a step", "remark"], steps),
        targets=table(
            ["two workers", "reduction, ms", "of stock RING's", "wanted", "reached"],
            reduction_rows(series),
        ),
    )


def _step_ms(key: str, values: Values) -> list[float | None]:
    num_workers = 1 if key.startswith("one") or key == "stock1" else 2
    return by_round(lambda rate: ROWS_A_WORKER * num_workers / rate * 1000, values)


def reduction_rows(series: Mapping[str, Series]) -> list[list[str]]:
    """Returns a row for each transport: its reduction time, and what part of stock RING's that is."""
    stock = _reduction_ms(series, "stock2", "stock1")
    rows = [["MultiWorkerMirrored, RING", show(spread(stock)), "1", "", ""]]
    for key, mine in series.items():
        ours, _, variant = key.partition("_")
        if ours not in AT_MOST:
            continue
        reduction = _reduction_ms(series, key, "one" + (f"_{variant}" if variant else ""))
        part = spread(by_round(lambda a, b: a / b, reduction, stock)) if len(reduction) == len(stock) else None
        wanted = f"<= {AT_MOST[ours]}"
        rows.append([mine.title, show(spread(reduction)), show(part), wanted, verdict(part, at_most=AT_MOST[ours])])
    return rows


def _reduction_ms(series: Mapping[str, Series], two: str, one: str) -> list[float | None]:
    if one not in series or two not in series or len(series[one].values) != len(series[two].values):
        return []
    return by_round(lambda b, a: b - a, _step_ms(two, series[two].values), _step_ms(one, series[one].values))
