"""How long it takes until the first step is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks import contest
from benchmarks.contest import Contestant, Outcome, Series, Settings
from benchmarks.processes import Process
from benchmarks.report import show, table, verdict
from benchmarks.spread import by_round, spread

TITLE = "Start, to the end of the first step"
LIMIT_S = 0.5

_BODY = """\
From just before the process is started to the end of the first step of `fit`, on all cores, the files in the disk
cache: one round before the others warms it and does not count.

{rows}
"""


def plan(settings: Settings) -> list[Contestant]:
    """Returns the plain script and paceline with one worker and two."""
    env = {**contest.amount(settings, model="mlp", rows=128, steps=2, epochs=1), "BENCH_WARM_UP_EPOCHS": "0"}
    options = settings.paceline_options
    plain = (Process(argv=contest.plain("start_script.py")),)
    one = contest.on_all_cores(contest.paceline("start_script.py", 1, options))
    two = contest.paceline("start_script.py", 2, options)
    ours = ("tensorflow", "keras", "paceline")
    return [
        Contestant(key="plain", title="python SCRIPT", processes=plain, packages=ours[:2], env=env),
        Contestant(key="one", title="paceline run --workers 1", processes=one, packages=ours, env=env),
        Contestant(
            key="two",
            title="paceline run --workers 2",
            processes=two,
            packages=ours,
            env={**env, "BENCH_WORKERS": "2"},
        ),
    ]


def measure(settings: Settings) -> dict[str, Series]:
    """Runs all, after one round that only warms the cache."""
    return contest.contest(plan(settings), settings.rounds, seconds, unscored_rounds=1)


def seconds(outcome: Outcome) -> float:
    """Returns the time from the start to the first step, by the clock that all processes share."""
    return float(outcome.results[0]["first_step_s"]) - outcome.began_s


def render(series: Mapping[str, Series], _extra: Mapping[str, Any]) -> str:
    """Returns the section's text."""
    plain, rows = series["plain"].values, []
    for key, mine in series.items():
        comparable = key != "plain" and len(mine.values) == len(plain)
        longer = spread(by_round(lambda b, a: b - a, mine.values, plain)) if comparable else None
        is_target = key == "one"
        wanted = f"<= {LIMIT_S} s" if is_target else ""
        reached = verdict(longer, at_most=LIMIT_S) if is_target else ""
        rows.append([mine.title, show(spread(mine.values), " s"), show(longer, " s"), wanted, reached, mine.state()])
    return _BODY.format(
        rows=table(["started as", "first step after", "longer by", "wanted", "reached", "remark"], rows)
    )
