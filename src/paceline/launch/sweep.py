"""Measures each way to sum over workers in a job of its own, whose processes and folder are thrown away."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from paceline.errors import ConfigurationRefused, UsageError, WorkerFailed
from paceline.launch.options import RunOptions
from paceline.tuning.choice import Contestant, Measured
from paceline.tuning.ring import TRIED

CommunicationName = Literal["all", "ring", "mpi"]
COMMUNICATIONS: tuple[str, ...] = get_args(CommunicationName)

_PROGRAM = "paceline.collectives.sweep"
_SIZES_BYTES = tuple(4**power for power in range(1, 14))  # 4 B to 64 MB
_QUICK_SIZES_BYTES = (4, 64 * 2**10, 4 * 2**20)
_NUM_QUICK = 3
_LARGE_BYTES = 4 * 2**20
_REPETITIONS, _LARGE_REPETITIONS = 21, 7
# Ctrl-C and SIGTERM: what is left to measure is not wanted any more.
_ENDED = (130, 143)


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepOptions:
    """What ``paceline tune`` was asked for.

    Attributes:
        num_workers: Processes that sum.
        communication: Which transports are measured, one of ``COMMUNICATIONS``.
        is_quick: Three sizes, each measured once, and three tunings of RING.

    Raises:
        UsageError: A value is out of range.
    """

    num_workers: int = 2
    communication: str = "all"
    is_quick: bool = False

    def __post_init__(self) -> None:
        if self.num_workers < 2:
            raise UsageError(
                "one worker has nothing to sum",
                got=f"--workers {self.num_workers}",
                expected="2 or more",
                fix="paceline tune --workers 2",
            )
        if self.communication not in COMMUNICATIONS:
            raise UsageError(
                "this communication is not measured",
                got=f"--communication {self.communication}",
                expected=" | ".join(COMMUNICATIONS),
                fix="--communication all",
            )

    @property
    def contestants(self) -> tuple[Contestant, ...]:
        """What is measured, in order."""
        tunings = TRIED[:_NUM_QUICK] if self.is_quick else TRIED
        rings = tuple(Contestant(transport="ring", tuning=tuning) for tuning in tunings)
        mpi = (Contestant(transport="mpi"),)
        return {"all": rings + mpi, "ring": rings, "mpi": mpi}[self.communication]

    @property
    def order(self) -> tuple[Contestant, ...]:
        """In which order contestants have their turns: there and back, so that none has the quiet hours alone."""
        return self.contestants if self.is_quick else self.contestants + self.contestants[::-1]

    @property
    def work(self) -> list[tuple[int, int]]:
        """How often each size is measured: (bytes, repetitions)."""
        if self.is_quick:
            return [(size, 1) for size in _QUICK_SIZES_BYTES]
        return [(size, _LARGE_REPETITIONS if size >= _LARGE_BYTES else _REPETITIONS) for size in _SIZES_BYTES]


def sweep(options: SweepOptions, run: Callable[[RunOptions], int], tell: Callable[[str], None]) -> list[Measured]:
    """Returns what was measured; what cannot be measured is left out, and said.

    Of several turns the least time counts at each size: what else a machine does can only add to it.

    Args:
        options: What was asked for.
        run: Runs a job and returns its exit code: ``paceline.launch.local.run``.
        tell: Shows a person one line.

    Raises:
        ConfigurationRefused: What was asked for cannot work here.
        WorkerFailed: Nothing could be measured, or a signal ended it.
    """
    order = options.order
    times_s: dict[Contestant, dict[int, float]] = {}
    left_out = set[Contestant]()
    code = 0
    for number, contestant in enumerate(order, start=1):
        if contestant in left_out:
            continue
        tell(f"measuring {number} of {len(order)}: {contestant}")
        try:
            code, now_s = _measure(contestant, options, run)
        except ConfigurationRefused as error:
            if contestant.transport in {options.communication, "ring"}:
                raise
            left_out.add(contestant)
            tell(f"{contestant} is left out: {error.what} ({error.got})")
            continue
        if code in _ENDED:
            raise WorkerFailed("The measurement was ended by a signal; nothing is kept.", exit_code=code)
        if code:
            left_out.add(contestant)
            tell(f"{contestant} is left out: its job ended with exit code {code}")
            continue
        before_s = times_s.get(contestant, now_s)
        times_s[contestant] = {size: min(time_s, before_s[size]) for size, time_s in now_s.items()}
    results = [
        Measured(contestant=contestant, times_s=measured_s)
        for contestant, measured_s in times_s.items()
        if contestant not in left_out
    ]
    if not results:
        raise WorkerFailed(
            "Nothing could be measured.",
            exit_code=code,
            got=f"exit code {code} of the last job",
            expected="one job at least that ends well",
            fix="paceline doctor",
        )
    return results


def _measure(
    contestant: Contestant, options: SweepOptions, run: Callable[[RunOptions], int]
) -> tuple[int, dict[int, float]]:
    """Returns the exit code of the contestant's job, and its times if that is 0."""
    with _thrown_away() as folder:
        out = folder / "times.json"
        code = run(
            RunOptions(
                target=_PROGRAM,
                module=True,
                script_args=(str(out), json.dumps(options.work)),
                workers=options.num_workers,
                communication=contestant.transport,
                ring=contestant.tuning,
                devices=(),
                run_dir=str(folder / "run"),
                seed=0,
                quiet=True,
            )
        )
        return code, {} if code else dict(json.loads(out.read_text(encoding="utf-8")))


@contextmanager
def _thrown_away() -> Iterator[Path]:
    """Gives a folder that is gone afterwards."""
    # What a worker still writes while its folder is removed is no reason to fail.
    with tempfile.TemporaryDirectory(prefix="paceline-tune-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)
