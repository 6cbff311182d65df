"""The launcher's own words to the person."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from paceline.errors import EXIT_REFUSED, LimitReached
from paceline.journal.status import Status
from paceline.launch import restart, verdict
from paceline.launch.output import OutputPump
from paceline.launch.plan import JobPlan
from paceline.launch.screen import Screen

_SHOWN_LINES = 30


class Report:
    """Says on stderr what happens to a job.

    Args:
        plan: The job.
        attempt_directory: Where its workers' files are.
        screen: The person's terminal.
        quiet: Say nothing but failures.
    """

    def __init__(self, plan: JobPlan, attempt_directory: Path, screen: Screen, *, quiet: bool) -> None:
        self._plan = plan
        self._screen = screen
        self._quiet = quiet
        self._noted: set[str] = set()
        self._num_restarts = 0
        self.attempt_begins(attempt_directory)

    def attempt_begins(self, directory: Path) -> None:
        """Notes where the files of the attempt that begins are."""
        self._directory = directory
        self._behind: tuple[int, ...] = ()
        self._oom_kills_before = _oom_kills()

    @property
    def oom_kills(self) -> int:
        """How many processes the kernel has killed for want of memory since the attempt began."""
        return _oom_kills() - self._oom_kills_before

    def begin(self, run_directory: Path) -> None:
        """Says what was decided."""
        if self._quiet:
            return
        plan = self._plan
        number = "1 worker" if plan.num_workers == 1 else f"{plan.num_workers} workers"
        replicas = plan.num_workers * plan.replicas_per_worker
        parts = [f"{number} on {plan.host}", f"{replicas} replica{'s' if replicas > 1 else ''}"]
        if plan.num_workers > 1:
            parts.append(f"tensors over {plan.transport}")
        self._screen.say(f"paceline: {', '.join(parts)}; files in {run_directory}")
        for decision in plan.decisions:
            if decision.is_fallback:
                self._screen.say(f"paceline: {decision.name}: {decision.value} ({decision.reason})")

    def end(self, code: int, seconds: float) -> None:
        """Says how the job ended."""
        if self._quiet:
            return
        restarts = (
            f", {self._num_restarts} restart{'s' if self._num_restarts > 1 else ''}" if self._num_restarts else ""
        )
        self._screen.say(f"paceline: ended with exit code {code} after {seconds:.1f} s{restarts}")

    def restarts(self, choice: restart.Choice, max_restarts: int, step: int | None) -> None:
        """Says that the job is started again.

        Args:
            choice: Why, and when.
            max_restarts: How often it may be.
            step: Of the newest checkpoint; None: there is none, or it is not known from here.
        """
        self._num_restarts += 1
        where = "from the beginning of the script" if step is None else f"from the checkpoint of step {step}"
        what = f"restart {choice.number} of {max_restarts}" if choice.number else "restart, not counted,"
        self._screen.say(f"paceline: {choice.reason}: {what} in {choice.wait_s:g} s, {where}")

    def ends_for_good(self, choice: restart.Choice) -> None:
        """Says why a job that could have been started again is not."""
        self._screen.say(f"paceline: not started again: {choice.reason}")

    def note(self, text: str) -> None:
        """Shows a worker's note, once however many workers wrote it."""
        if text and text not in self._noted:
            self._noted.add(text)
            if not self._quiet:
                self._screen.say(f"paceline: {text}")

    def ending(self, number: signal.Signals) -> None:
        """Says that a signal ends the job."""
        again = "; once more kills at once" if number == signal.SIGINT else ""
        self._screen.say(f"paceline: {number.name}, ending {self._plan.num_workers} worker(s){again}")

    def limit(self, limit: LimitReached) -> None:
        """Shows a limit that was reached."""
        self._screen.say(f"paceline: {limit}")

    def failure(
        self,
        failures: Sequence[verdict.Failure],
        ended_ranks: Sequence[int],
        statuses: Mapping[int, Status],
        pump: OutputPump,
    ) -> None:
        """Names the worker that failed first, with its last lines where they were not shown yet."""
        first = verdict.first_failure(failures)
        meaning = verdict.meaning_of(first.code, oom_kills=self.oom_kills)
        alike = [f.rank for f in failures if f is not first and verdict.is_same_error(f, first)]
        which = _ranks(sorted([first.rank, *alike])) if alike else f"worker {first.rank}"
        of = f" of {self._plan.num_workers}" if self._plan.num_workers > 1 else ""
        how = "failed alike" if alike else "failed" + (" first" if self._plan.num_workers > 1 else "")
        lines = [f"paceline: {which}{of} on {self._plan.host} {how}: {meaning}"]
        explanation = last_lines(first, pump.tail(first.rank))
        # The chief may have printed the same error and been ended before its own end was seen.
        shown = [0, *(rank for rank in (first.rank, *alike) if pump.is_shown(rank))]
        if not any(set(explanation) <= set(pump.tail(rank)) for rank in shown):
            lines += [f"  | {line}" for line in explanation]
        for failure in failures:
            if failure is not first and failure.rank not in alike:
                lines.append(f"  worker {failure.rank} failed after it: {verdict.meaning_of(failure.code)}")
        for rank in ended_ranks:
            phase = verdict.describe_phase(statuses.get(rank, Status()))
            lines.append(f"  worker {rank} was ended; it was in {phase}")
        lines += likely(first, explanation)
        lines.append(f"  output:   {self._directory / f'worker-{first.rank}'}")
        self._screen.say("\n".join(lines))

    def not_ready(self, late: Sequence[int], statuses: Mapping[int, Status], passed_s: float) -> LimitReached:
        """Returns the error for workers that were not ready in time."""
        phases = (
            f"worker {rank} in {verdict.describe_phase(statuses[rank])}"
            if statuses[rank].updated
            else f"worker {rank} has not reported at all"
            for rank in late
        )
        return LimitReached(
            f"{_ranks(late).capitalize()} of {self._plan.num_workers} on {self._plan.host} not ready "
            f"within the start limit of {self._plan.start_s:g} s.",
            got=f"after {passed_s:.0f} s: {', '.join(phases)}",
            expected="every worker has met its peers before the script starts",
            fix=f"see {self._directory}/worker-{late[0]}/stacks and stderr.log, or raise --start-timeout",
        )

    def stalled(
        self, ranks: Sequence[int], stopped: Sequence[int], statuses: Mapping[int, Status], still_s: float
    ) -> LimitReached:
        """Returns the error for a job of which no worker has come further.

        Args:
            ranks: Those that the others wait for, or all.
            stopped: Those whose process is stopped.
            statuses: The pages of the workers that run.
            still_s: For how long nothing has changed.
        """
        what = [
            f"worker {rank} in {verdict.describe_phase(status)}" + (", stopped (SIGSTOP)" if rank in stopped else "")
            for rank, status in sorted(statuses.items())
        ]
        who = "All workers stand" if len(ranks) == len(statuses) > 1 else f"{_ranks(ranks).capitalize()} stands"
        if 1 < len(ranks) < len(statuses):
            who = f"{_ranks(ranks).capitalize()} stand"
        others = ", the others wait" if len(ranks) < len(statuses) else ""
        return LimitReached(
            f"{who} still{others}.",
            got=f"nothing has changed for {still_s:.0f} s: {', '.join(what)}",
            expected="some worker comes further within the stall limit",
            fix=f"see {self._directory}/worker-{ranks[0]}/stacks; --stall-timeout 1h where this is no hang",
        )

    def waits(self, waiting: Sequence[int], behind: Sequence[int], statuses: Mapping[int, Status]) -> None:
        """Says once, of workers that are long in coming, who waits for them and what they do."""
        if self._behind == (told := tuple(behind)):
            return
        self._behind = told
        if behind:
            what = ", ".join(f"worker {rank} is in {verdict.describe_phase(statuses[rank])}" for rank in behind)
            verb = "has" if len(waiting) == 1 else "have"
            self.note(f"{_ranks(waiting)} {verb} waited {verdict.WAIT_LIMIT_S:g} s for {_ranks(behind)}: {what}")

    def left_alone(self, ended: Sequence[int], alone: Sequence[int], statuses: Mapping[int, Status]) -> LimitReached:
        """Returns the error for workers that wait for peers that have ended."""
        verb, wait = ("has" if len(ended) == 1 else "have"), ("waits" if len(alone) == 1 else "wait")
        steps = ", ".join(sorted({str(statuses[rank].step) for rank in alone}))
        return LimitReached(
            f"{_ranks(ended).capitalize()} {verb} ended the script, {_ranks(alone)} {wait} in step {steps}.",
            got=f"no progress in a collective for {verdict.END_LIMIT_S:g} s",
            expected="every worker makes the same number of steps, and the same calls of fit, evaluate, save",
            fix=f"look for a branch on the worker's rank in {self._plan.script['target']}",
        )


def last_lines(failure: verdict.Failure, stderr_tail: Sequence[str]) -> list[str]:
    """Returns the lines that explain a failure: its traceback, or else what it printed last."""
    if failure.error is not None and (text := str(failure.error.fields.get("traceback", ""))):
        return text.rstrip("\n").split("\n")[-_SHOWN_LINES:]
    return list(stderr_tail)[-_SHOWN_LINES:]


def likely(failure: verdict.Failure, lines: Sequence[str]) -> list[str]:
    """Returns what the table of known lines says of a failure, in one line; nothing where it knows no more.

    Args:
        failure: The one that came first.
        lines: What explains it, as it is shown.
    """
    from paceline.failures.row import Kind, fill
    from paceline.failures.table import find

    if failure.code == EXIT_REFUSED:  # says itself what to do
        return []
    for line in lines:
        row = find(line)
        if row is not None and row.kind is Kind.CAUSE and not row.is_general:
            match = row.search(line)
            groups = match.groupdict() if match is not None else {}
            return [f"  likely:   {fill(row.meaning, groups)} Fix: {fill(row.fix, groups)}"]
    return []


def _ranks(ranks: Sequence[int]) -> str:
    """Returns ranks in words.

    >>> _ranks([1]), _ranks([0, 2])
    ('worker 1', 'workers 0 and 2')
    """
    words = [str(rank) for rank in ranks]
    return f"worker {words[0]}" if len(words) == 1 else f"workers {', '.join(words[:-1])} and {words[-1]}"


def _oom_kills() -> int:
    """Returns how many processes the kernel has killed for want of memory since it started."""
    try:
        with open("/proc/vmstat", encoding="ascii") as file:
            return next((int(line.split()[1]) for line in file if line.startswith("oom_kill ")), 0)
    except OSError:
        return 0
