"""Says when a job stands still. Pure but for the clock's reading, which is handed in."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from paceline.journal.status import Phase, Status

#: Without `--stall-timeout`: so many times the longest time in which this run's pages did not change, no less than a
#: minute, and no more than ten minutes and three times that time. Source: a page changes with each group of steps (a
#: tenth of a second, a step where that is longer); a pause of thirty of the longest of them is none of the run's own.
TIMES, LEAST_S = 30, 60.0
#: Before a step has shown how long steps take.
BEFORE_STEPS_S = 600.0
#: Where the worker that is behind runs code of the script's own, compiles or writes, it may take so many times as long.
PATIENCE = 10
_PATIENT = (Phase.BUILD, Phase.TRACE, Phase.DATA, Phase.CALLBACK, Phase.CHECKPOINT, Phase.SCRIPT)
#: Nothing says that these are to end: another limit holds (`--start-timeout`), or none.
_FREE = (Phase.START, Phase.CONNECT, Phase.SCRIPT, Phase.END)


def behind(statuses: Mapping[int, Status]) -> list[int]:
    """Returns the ranks that have entered the fewest collectives: the others wait for them, if anybody waits.

    >>> behind({0: Status(collectives=3), 1: Status(collectives=2)}), behind({0: Status(), 1: Status()})
    ([1], [0, 1])
    """
    least = min((status.collectives for status in statuses.values()), default=0)
    return sorted(rank for rank, status in statuses.items() if status.collectives == least)


def _place(status: Status) -> tuple[object, ...]:
    """Returns what changes when a worker comes further; not the loss, which is no number at first and unlike itself."""
    return (status.phase, status.step, status.collectives, status.saves, status.samples, status.updated)


class StallWatch:
    """Follows the pages of a job's workers.

    Args:
        limit_s: `--stall-timeout`; None: learned.
    """

    def __init__(self, limit_s: float | None) -> None:
        self._asked_s = limit_s
        self._seen: dict[int, Status] = {}
        self._places: dict[int, tuple[object, ...]] = {}
        self._since = 0.0
        self._longest_s: float | None = None

    def look(self, statuses: Mapping[int, Status], now: float) -> float:
        """Returns for how many seconds no page has changed.

        Args:
            statuses: The pages of the workers that run, by rank.
            now: By a clock that only goes on.
        """
        if {rank: _place(status) for rank, status in statuses.items()} != self._places:
            steps = [status.step for status in self._seen.values()]
            if steps and min(steps) > 0 and not any(status.phase in _PATIENT for status in self._seen.values()):
                self._longest_s = max(self._longest_s or 0.0, now - self._since)
            self._seen, self._since = dict(statuses), now
            self._places = {rank: _place(status) for rank, status in statuses.items()}
        return now - self._since

    def limit_s(self, stopped: Collection[int] = ()) -> float | None:
        """Returns how long it may stand still as it does now; None: for ever.

        Args:
            stopped: Ranks of workers whose process is stopped, by SIGSTOP or a debugger.
        """
        phases = [self._seen[rank].phase for rank in behind(self._seen)]
        if not stopped and all(status.phase in _FREE for status in self._seen.values()):
            return None
        if self._asked_s is not None:
            return self._asked_s
        if self._longest_s is None:
            return BEFORE_STEPS_S * (1 if stopped else PATIENCE if any(p in _PATIENT for p in phases) else 1)
        limit_s = max(LEAST_S, min(TIMES * self._longest_s, BEFORE_STEPS_S + 3 * self._longest_s))
        return limit_s * PATIENCE if any(phase in _PATIENT for phase in phases) and not stopped else limit_s
