"""Runs contestants as real processes, each worker on a core of its own: A B C A B C."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import processes
from benchmarks.processes import Process

CONTESTANTS = Path(__file__).parent / "contestants"
_MARK = "RESULT "
_QUICK_STEPS = 50  # legacy tf_keras runs up to 50 steps at once


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How this command measures.

    Attributes:
        rounds: How often each contestant runs.
        quick: Prove that everything runs; the numbers mean nothing.
        paceline_options: More options for `paceline run`.
        has_jit: Whether the installed paceline knows `--jit`.
    """

    rounds: int = 5
    quick: bool = False
    paceline_options: tuple[str, ...] = ()
    has_jit: bool = False

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise SystemExit(f"rounds: got {self.rounds}, expected 1 or more")

    def variants(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """Returns (suffix of keys, suffix of titles, options) for each way in which paceline is measured."""
        plain = [("", "", self.paceline_options)]
        return [*plain, ("_jit", " --jit on", (*self.paceline_options, "--jit", "on"))] if self.has_jit else plain


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """One row of a table.

    Attributes:
        key: Its name in results.
        title: Its name for readers.
        processes: What is started, all at once.
        packages: What must be importable.
        env: Variables of its processes.
        limit_s: How long a run may take.
    """

    key: str
    title: str
    processes: tuple[Process, ...]
    packages: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    limit_s: float = 600.0


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one run gave.

    Attributes:
        results: What stood behind `RESULT` in the output of all processes, in their order.
        error: Why there is no result; empty if there is.
        began_s: Monotonic time just before the first process was started.
    """

    results: list[Any] = field(default_factory=list)
    error: str = ""
    began_s: float = 0.0


@dataclass(kw_only=True)
class Series:
    """A contestant's numbers.

    Attributes:
        title: Its name for readers.
        values: One value a round; ``None`` where the run failed.
        error: The last line of the last failure.
        missing: Packages that are not installed.
    """

    title: str
    values: list[Any] = field(default_factory=list)
    error: str = ""
    missing: list[str] = field(default_factory=list)

    def state(self) -> str:
        """Returns in words what is wrong with it; empty if nothing is."""
        if self.missing:
            return f"not installed: {', '.join(self.missing)}"
        num_failed = sum(value is None for value in self.values)
        return f"failed in {num_failed} of {len(self.values)}: {self.error}" if num_failed else ""

    def to_json(self) -> dict[str, Any]:
        """Returns it as plain data; `Series(**data)` brings it back."""
        return asdict(self)


def ranks(script: str, size: int) -> tuple[Process, ...]:
    """Returns one process for each rank of a contestant that is called with `RANK SIZE PORT`."""
    path = str(CONTESTANTS / script)
    return tuple(
        Process(argv=(sys.executable, path, str(rank), str(size), "{port}"), cores=(rank,)) for rank in range(size)
    )


def paceline(script: str, size: int, options: Sequence[str] = (), core: int | None = None) -> tuple[Process, ...]:
    """Returns the launcher of `size` workers, which gets as many cores; a single worker stays on `core`."""
    cores = tuple(range(size)) if core is None else (core,)
    shown = () if "--all-output" in options else ("--quiet",)
    own = ("--workers", str(size), "--run-dir", f"run-{core or 0}", *shown)
    argv = (sys.executable, "-m", "paceline", "run", *own, *options, str(CONTESTANTS / script))
    return (Process(argv=argv, cores=cores),)


def plain(script: str) -> tuple[str, ...]:
    """Returns the command of a script without paceline."""
    return (sys.executable, str(CONTESTANTS / script))


def on_all_cores(processes: Sequence[Process]) -> tuple[Process, ...]:
    """Returns the same processes, not pinned."""
    return tuple(Process(argv=process.argv) for process in processes)


def amount(settings: Settings, *, model: str, rows: int, steps: int, epochs: int) -> dict[str, str]:
    """Returns the variables that tell a contestant what to train; two epochs before the others are warm-up."""
    return {
        "BENCH_MODEL": model,
        "BENCH_ROWS": str(rows),
        "BENCH_STEPS": str(min(steps, _QUICK_STEPS) if settings.quick else steps),
        "BENCH_WARM_UP_EPOCHS": str(1 if settings.quick else 2),
        "BENCH_EPOCHS": str(1 if settings.quick else epochs),
    }


def total_rate(results: Sequence[Sequence[float]]) -> float:
    """Returns samples/s: each job's fastest epoch, added up over jobs that ran at the same time.

    Not the median: on a virtual machine the host takes a core away for milliseconds when threads wait for each other,
    in some epochs and not in others, and that is no property of a contestant.

    >>> total_rate([[10.0, 30.0, 20.0], [5.0]])
    35.0
    """
    return sum(max(rates) for rates in results)


def parse_results(text: str) -> list[Any]:
    """Returns what stands behind `RESULT` in the lines of `text`; a progress bar may stand before it.

    >>> parse_results("100/100 - 1s RESULT [1.5, 2.0]\\nRESULT {}\\n")
    [[1.5, 2.0], {}]
    """
    return [json.loads(line.rpartition(_MARK)[2]) for line in text.splitlines() if _MARK in line]


def last_line(text: str) -> str:
    """Returns the last line that says what failed, shortened; an error of paceline goes on after it.

    >>> last_line("Traceback\\nValueError: no\\n\\n")
    'ValueError: no'
    """
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith(("got:", "expected:", "fix:"))]
    return lines[-1][-200:] if lines else ""


def missing_packages(contestant: Contestant) -> list[str]:
    """Returns what cannot be imported here."""
    return [name for name in contestant.packages if importlib.util.find_spec(name) is None]


def run_once(contestant: Contestant) -> Outcome:
    """Runs a contestant to its end."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        started: list[subprocess.Popen[bytes]] = []
        began_s = time.monotonic()
        try:
            port = processes.free_ports(len(contestant.processes))
            for place, process in enumerate(contestant.processes):
                started.append(processes.start(process, contestant.env, port, Path(folder), place))
            error = processes.wait(started, contestant.limit_s)
        finally:
            for popen in started:
                processes.end(popen)
        outputs = [(Path(folder) / f"{place}.out").read_text(errors="replace") for place in range(len(started))]
        if error:
            place = max(processes.first_failed(started), 0)
            said = last_line((Path(folder) / f"{place}.err").read_text(errors="replace"))
            return Outcome(error=f"{error}: {said}" if said else error, began_s=began_s)
    results = [result for output in outputs for result in parse_results(output)]
    return Outcome(results=results, error="" if results else "printed no result", began_s=began_s)


def contest(
    contestants: Sequence[Contestant],
    rounds: int,
    value: Callable[[Outcome], Any],
    *,
    unscored_rounds: int = 0,
) -> dict[str, Series]:
    """Runs all contestants `rounds` times, A B C A B C, and returns their series by key.

    Args:
        contestants: Who takes part; one whose packages are missing is in the result and says so.
        rounds: How often each runs.
        value: Makes one value of a run that succeeded.
        unscored_rounds: So many rounds before, which only warm caches.
    """
    series = {c.key: Series(title=c.title, missing=missing_packages(c)) for c in contestants}
    for number in range(unscored_rounds + rounds):
        for contestant in contestants:
            mine = series[contestant.key]
            if mine.missing:
                continue
            began = time.monotonic()
            outcome = run_once(contestant)
            if number < unscored_rounds:
                continue
            mine.values.append(None if outcome.error else value(outcome))
            mine.error = outcome.error or mine.error
            said = outcome.error or f"{mine.values[-1]!s:.60}"
            took_s = time.monotonic() - began
            print(f"  {number + 1 - unscored_rounds}/{rounds} {contestant.title}: {said}  ({took_s:.0f} s)", flush=True)
    return series
