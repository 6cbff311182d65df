"""The article's MLP: paceline against everybody, two workers and one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks import contest
from benchmarks.contest import Contestant, Outcome, Series, Settings
from benchmarks.processes import Process
from benchmarks.report import number, show, table, verdict
from benchmarks.spread import Spread, best, by_round, spread

TITLE = "The article's MLP, two workers"
ROWS_A_WORKER = 128
_TF = ("tensorflow", "keras")
_PACELINE = (*_TF, "paceline")
_STEPS_PER_EXECUTION = (1, 10, 50)

_BODY = """\
784-256-128-10 with BatchNorm and Adam, {rows} rows for each worker and step, `model.fit` with `verbose=1` and one
`on_epoch_end` callback (PyTorch: a bare loop that counts loss and accuracy, too). A run's number is its fastest epoch
after the warm-up.

{rates}
{targets}
{own}
- paceline and stock Keras run the same script, whose input is the article's (rows in memory, batched by tf.data). The
  others get theirs in the form that is cheapest for them: ready batches of their own rows, arrays, or views of arrays.
- MultiWorkerMirrored has endless data: on finite data it does one more all-reduce in each step.
- PyTorch keeps each worker's moving statistics of BatchNorm to itself (`broadcast_buffers=False`), which is faster;
  paceline's are the mean over workers. `torch.compile` was not used.
- "Matrix products alone" (NumPy's BLAS) are no contestant but a bound: no step on this core can be shorter.
- "Two at the same time" are two jobs of one worker that know nothing of each other: what the machine allows without any
  communication.
"""


@dataclass(frozen=True, kw_only=True)
class Target:
    """Our rate over the best rate of others.

    Attributes:
        title: What it is measured against.
        ours: Key of our series, without the suffix of a variant.
        theirs: Keys of the others; the best counts.
        at_least: The ratio wanted.
    """

    title: str
    ours: str
    theirs: tuple[str, ...]
    at_least: float


_LEGACY = tuple(f"legacy2_spe{n}" for n in _STEPS_PER_EXECUTION)
TARGETS = (
    Target(title="Keras 3 `fit`, MultiWorkerMirrored", ours="mpi", theirs=("mwms2",), at_least=7),
    Target(title="legacy tf_keras, MultiWorkerMirrored", ours="mpi", theirs=_LEGACY, at_least=10),
    Target(title="Keras 3 on JAX, two processes", ours="mpi", theirs=("jax2", "jax2_spe10"), at_least=8),
    Target(title="PyTorch DDP, Gloo", ours="mpi", theirs=("torch2",), at_least=1.6),
    Target(title="PyTorch DDP, Gloo", ours="ring", theirs=("torch2",), at_least=1),
    Target(title="one process: stock Keras, at worst", ours="one", theirs=("keras1",), at_least=1),
    Target(title="one process: stock Keras, on this MLP", ours="one", theirs=("keras1",), at_least=2),
    Target(title="one process: Keras on JAX, same script", ours="one", theirs=("jax1",), at_least=0.9),
)
STEP_LIMITS_MS = {"mpi": 0.6, "ring": 3.5}
"""How much longer than its own one-process step our two-worker step may be."""
EFFICIENCY_AIM = 0.85
OURS = {"mpi": "paceline, MPI", "ring": "paceline, RING", "one": "paceline, one worker"}


def plan(settings: Settings) -> list[Contestant]:
    """Returns the contestants in the order of a round."""
    fast = _amount(settings, steps=200, epochs=10)
    slow = _amount(settings, steps=100, epochs=5)
    result = []
    for suffix, name, options in settings.variants():
        ring, two = ("--communication", "ring", *options), {**fast, "BENCH_WORKERS": "2"}
        mpi = ("--communication", "mpi", *options)
        result += [
            _ours("mpi" + suffix, OURS["mpi"] + name, contest.paceline("keras_script.py", 2, mpi), two),
            _ours("ring" + suffix, OURS["ring"] + name, contest.paceline("keras_script.py", 2, ring), two),
            _ours("one" + suffix, OURS["one"] + name, contest.paceline("keras_script.py", 1, options, core=0), fast),
        ]
    together = tuple(
        process
        for core in range(2)
        for process in contest.paceline("keras_script.py", 1, settings.paceline_options, core=core)
    )
    result += [
        _ours("together", "paceline, one worker, two at the same time", together, fast),
        Contestant(
            key="keras1",
            title="Keras 3, one process, the same script",
            processes=(Process(argv=contest.plain("keras_script.py"), cores=(0,)),),
            packages=_TF,
            env={**fast, "TF_NUM_INTRAOP_THREADS": "1"},
        ),
        Contestant(
            key="mwms2",
            title="Keras 3, MultiWorkerMirrored, two-line repair",
            processes=contest.ranks("keras_mwms.py", 2),
            packages=_TF,
            env=slow,
        ),
        *(_legacy(n, slow) for n in _STEPS_PER_EXECUTION),
        *(_jax(size, n, fast if size == 1 else slow) for size in (2, 1) for n in (1, 10)),
        *(_torch(size, fast) for size in (2, 1)),
        Contestant(
            key="products1",
            title="the step's matrix products alone, one process",
            processes=(Process(argv=contest.plain("products.py"), cores=(0,)),),
            env=fast,
        ),
    ]
    return result


def _ours(key: str, title: str, processes: tuple[Process, ...], env: dict[str, str]) -> Contestant:
    return Contestant(key=key, title=title, processes=processes, packages=_PACELINE, env=env)


def _legacy(steps_per_execution: int, amount: dict[str, str]) -> Contestant:
    return Contestant(
        key=f"legacy2_spe{steps_per_execution}",
        title=f"tf_keras, MultiWorkerMirrored, steps_per_execution={steps_per_execution}",
        processes=contest.ranks("keras_mwms.py", 2),
        packages=("tensorflow", "tf_keras"),
        env={**amount, "BENCH_LEGACY": "1", "BENCH_STEPS_PER_EXECUTION": str(steps_per_execution)},
    )


def _jax(size: int, steps_per_execution: int, amount: dict[str, str]) -> Contestant:
    many = steps_per_execution > 1
    return Contestant(
        key=f"jax{size}" + (f"_spe{steps_per_execution}" if many else ""),
        title=f"Keras 3 on JAX, {'two processes' if size == 2 else 'one process'}"
        + (f", steps_per_execution={steps_per_execution}" if many else ""),
        processes=contest.ranks("keras_jax.py", size),
        packages=("keras", "jax"),
        env={**amount, "BENCH_STEPS_PER_EXECUTION": str(steps_per_execution)},
    )


def _torch(size: int, amount: dict[str, str]) -> Contestant:
    title = "PyTorch DDP, Gloo" if size == 2 else "PyTorch, one process"
    processes = contest.ranks("torch_ddp.py", size)
    return Contestant(key=f"torch{size}", title=title, processes=processes, packages=("torch",), env=amount)


def _amount(settings: Settings, *, steps: int, epochs: int) -> dict[str, str]:
    return contest.amount(settings, model="mlp", rows=ROWS_A_WORKER, steps=steps, epochs=epochs)


def measure(settings: Settings) -> dict[str, Series]:
    """Runs all contestants."""
    return contest.contest(plan(settings), settings.rounds, rate)


def rate(outcome: Outcome) -> float:
    """Returns samples/s of a run: its fastest epoch, all jobs of the contestant together."""
    return contest.total_rate(outcome.results)


def render(series: Mapping[str, Series], _extra: Mapping[str, Any]) -> str:
    """Returns the section's text."""
    return _BODY.format(
        rows=ROWS_A_WORKER,
        rates=table(["contestant", "samples/s", "ms a step", "remark"], [_rate_row(k, s) for k, s in series.items()]),
        targets=table(["paceline", "against", "ratio", "wanted", "reached"], target_rows(series)),
        own=table(["paceline", "against its own one-process step", "is", "wanted", "reached"], own_rows(series)),
    )


def _rate_row(key: str, series: Series) -> list[str]:
    found = spread(series.values)
    step_ms = show(spread(_step_ms(key, series))) if found else "-"
    return [series.title, show(found), step_ms, series.state()]


def _num_workers(key: str) -> int:
    return 1 if key.partition("_")[0] in {"one", "keras1", "jax1", "torch1", "products1"} else 2


def _step_ms(key: str, series: Series) -> list[float | None]:
    rows = ROWS_A_WORKER * _num_workers(key)
    return by_round(lambda value: rows / value * 1000, series.values)


def target_rows(series: Mapping[str, Series]) -> list[list[str]]:
    """Returns a row for each target and each variant of paceline."""
    rows = []
    for target in TARGETS:
        chosen = best({key: series[key].values for key in target.theirs if key in series})
        for key in _variants(series, target.ours):
            found = _ratio(series[key], series[chosen]) if chosen else None
            against = f"{target.title} (best: {chosen})" if chosen and len(target.theirs) > 1 else target.title
            wanted = f">= {number(target.at_least)}"
            rows.append([series[key].title, against, show(found), wanted, verdict(found, at_least=target.at_least)])
    return rows


def own_rows(series: Mapping[str, Series]) -> list[list[str]]:
    """Returns rows that compare paceline's two-worker step with its own one-worker step."""
    rows = []
    for ours, limit_ms in STEP_LIMITS_MS.items():
        for key in _variants(series, ours):
            one = series.get(key.replace(ours, "one"))
            if one is None or len(one.values) != len(series[key].values):
                continue
            longer = spread(by_round(lambda b, a: b - a, _step_ms(key, series[key]), _step_ms("one", one)))
            rows.append(
                [series[key].title, "a step is longer by", show(longer, " ms"), f"<= {limit_ms} ms",
                 verdict(longer, at_most=limit_ms)]
            )  # fmt: skip
            efficiency = spread(by_round(lambda b, a: b / (2 * a), series[key].values, one.values))
            aim = EFFICIENCY_AIM if ours == "mpi" else None
            rows.append(_efficiency_row(series[key].title, "scaling efficiency", efficiency, aim))
    together, one = series.get("together"), series.get("one")
    if together and one and len(together.values) == len(one.values):
        found = spread(by_round(lambda b, a: b / (2 * a), together.values, one.values))
        rows.append(_efficiency_row(together.title, "efficiency without communication", found, None))
    return rows


def _efficiency_row(title: str, what: str, found: Spread | None, aim: float | None) -> list[str]:
    wanted = f"{aim:.0%} (aim)" if aim else ""
    return [title, what, show(found), wanted, verdict(found, at_least=aim) if aim else ""]


def _variants(series: Mapping[str, Series], key: str) -> list[str]:
    return [name for name in (key, f"{key}_jit") if name in series]


def _ratio(ours: Series, theirs: Series) -> Spread | None:
    if len(ours.values) != len(theirs.values):
        return None
    return spread(by_round(lambda a, b: a / b, ours.values, theirs.values))
