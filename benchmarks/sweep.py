"""All-reduce of 4 B to 64 MiB over each transport, alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks import contest
from benchmarks.contest import Contestant, Series, Settings
from benchmarks.report import number, table
from benchmarks.spread import spread

TITLE = "All-reduce, 4 B to 64 MiB"
NUM_WORKERS = 2
PLOT = "benchmarks-sweep.svg"

_BODY = """\
Two processes sum float32 values, eight times in one call; the time is that of one sum. The three of TensorFlow are
called as a step calls them, inside a `tf.function`. Bus bandwidth is 2(N-1)/N times the bytes over the time, as NCCL's
tests define it.

Milliseconds:

{times}
Bus bandwidth, MB/s:

{bandwidths}
{plot}
"""


def plan(settings: Settings) -> list[Contestant]:
    """Returns the transports."""
    env = {"BENCH_QUICK": str(int(settings.quick)), "BENCH_WORKERS": str(NUM_WORKERS)}
    mpi = contest.paceline("sweep_mpi.py", NUM_WORKERS, ("--communication", "mpi"))
    ours = ("tensorflow", "keras", "mpi4py", "paceline")
    return [
        Contestant(key="mpi", title="paceline, MPI", processes=mpi, packages=ours, env=env),
        Contestant(
            key="bare", title="mpi4py alone", processes=mpi, packages=ours, env={**env, "BENCH_BARE": "1"}
        ),
        *(
            Contestant(
                key=key,
                title=title,
                processes=contest.ranks(f"sweep_{key}.py", NUM_WORKERS),
                packages=packages,
                env=env,
            )
            for key, title, packages in (
                ("ring", "paceline, RING", ("tensorflow", "paceline")),
                ("stock", "MultiWorkerMirrored, RING", ("tensorflow",)),
                ("gloo", "PyTorch, Gloo", ("torch",)),
            )
        ),
    ]  # fmt: skip


def measure(settings: Settings) -> dict[str, Series]:
    """Runs all transports."""
    return contest.contest(plan(settings), settings.rounds, lambda outcome: outcome.results[0])


def medians(series: Series) -> dict[int, float]:
    """Returns ms by size in bytes, the median over rounds.

    >>> medians(Series(title="", values=[[[4, 1.0]], [[4, 3.0]], None]))
    {4: 2.0}
    """
    by_size: dict[int, list[float]] = {}
    for run in series.values:
        for size_bytes, ms in run or []:
            by_size.setdefault(size_bytes, []).append(ms)
    return {size: found.median for size, values in by_size.items() if (found := spread(values))}


def bus_bandwidth_mb_s(size_bytes: int, ms: float, num_workers: int = NUM_WORKERS) -> float:
    """Returns what NCCL's tests call busbw. Source: nccl-tests, doc/PERFORMANCE.md.

    >>> bus_bandwidth_mb_s(2_000_000, 4.0, num_workers=2)
    500.0
    """
    return 2 * (num_workers - 1) / num_workers * size_bytes / 1e6 / (ms / 1000)


def size_text(size_bytes: int) -> str:
    """Returns a size for people.

    >>> [size_text(n) for n in (4, 4096, 2**26)]
    ['4 B', '4 KiB', '64 MiB']
    """
    for unit, factor in (("MiB", 2**20), ("KiB", 2**10)):
        if size_bytes >= factor:
            return f"{size_bytes // factor} {unit}"
    return f"{size_bytes} B"


def render(series: Mapping[str, Series], extra: Mapping[str, Any]) -> str:
    """Returns the section's text; `extra` says whether there is a plot."""
    columns = {key: medians(mine) for key, mine in series.items()}
    sizes = sorted({size for column in columns.values() for size in column})

    def cells(value: Any) -> list[list[str]]:
        return [
            [
                size_text(size),
                *(number(value(size, found[size])) if size in found else "-" for found in columns.values()),
            ]
            for size in sizes
        ]

    head = ["size", *(mine.title for mine in series.values())]
    states = [f"- {mine.title}: {mine.state()}" for mine in series.values() if mine.state()]
    plot = (
        f"![Time and bus bandwidth by size]({PLOT})" if extra.get("plot") else "No plot: matplotlib is not installed."
    )
    return _BODY.format(
        times=table(head, cells(lambda size, ms: ms)),
        bandwidths=table(head, cells(bus_bandwidth_mb_s)),
        plot="\n".join([plot, "", *states]),
    )
