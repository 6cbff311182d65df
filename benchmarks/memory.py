"""Whether resident memory stays what it is over 20,000 steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks import contest
from benchmarks.contest import Contestant, Outcome, Series, Settings
from benchmarks.report import show, table, verdict
from benchmarks.spread import spread

TITLE = "Memory over 20,000 steps"
LIMIT_MB = 2.0
_STEPS = 1000
_EPOCHS = 21

_BODY = """\
The MLP with 8 rows for each worker, {epochs} epochs of {steps} steps, two workers. Resident memory of every worker is
read at the end of each epoch, after a garbage collection; growth is from step {steps} to the last, of the worker that
grew most.

{growth}
"""


def plan(settings: Settings) -> list[Contestant]:
    """Returns both transports."""
    env = {
        "BENCH_MODEL": "mlp",
        "BENCH_ROWS": "8",
        "BENCH_STEPS": str(30 if settings.quick else _STEPS),
        "BENCH_WARM_UP_EPOCHS": "1",
        "BENCH_EPOCHS": str(2 if settings.quick else _EPOCHS - 1),
        "BENCH_WORKERS": "2",
    }
    return [
        Contestant(
            key=name,
            title=f"paceline, {name.upper()}",
            processes=contest.paceline(
                "memory_script.py", 2, ("--all-output", "--communication", name, *settings.paceline_options)
            ),
            packages=("tensorflow", "keras", "paceline"),
            env=env,
            limit_s=1800,
        )
        for name in ("mpi", "ring")
    ]


def measure(settings: Settings) -> dict[str, Series]:
    """Runs both transports, once: 20,000 steps are many."""
    return contest.contest(plan(settings), 1, megabytes)


def megabytes(outcome: Outcome) -> list[list[float]]:
    """Returns each worker's resident memory after each epoch, in MB."""
    return [[resident / 1e6 for resident in worker["resident_bytes"]] for worker in outcome.results]


def growth_mb(workers: list[list[float]]) -> float:
    """Returns how much the worker grew that grew most, from the first reading to the last.

    >>> growth_mb([[500.0, 500.5], [510.0, 509.0]])
    0.5
    """
    return max(readings[-1] - readings[0] for readings in workers)


def render(series: Mapping[str, Series], _extra: Mapping[str, Any]) -> str:
    """Returns the section's text."""
    rows = []
    for mine in series.values():
        runs = [run for run in mine.values if run is not None]
        growth = spread([growth_mb(run) for run in runs])
        first = spread([worker[0] for run in runs for worker in run])
        wanted = f"< {LIMIT_MB:.0f} MB"
        reached = verdict(growth, at_most=LIMIT_MB)
        rows.append([mine.title, show(first, " MB"), show(growth, " MB"), wanted, reached, mine.state()])
    head = ["contestant", f"at step {_STEPS:,}", "growth", "wanted", "reached", "remark"]
    return _BODY.format(epochs=_EPOCHS, steps=f"{_STEPS:,}", growth=table(head, rows))
