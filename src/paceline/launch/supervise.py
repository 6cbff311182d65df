"""Watches the workers until the job has ended; ends it when one fails, waits in vain or a person says so."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Sequence
from typing import NamedTuple

from paceline.errors import EXIT_LIMIT, LimitReached
from paceline.journal.reader import Tail, read
from paceline.journal.status import Phase, Status, StatusReader
from paceline.launch import restart, stacks, verdict
from paceline.launch.interrupts import Interrupts
from paceline.launch.output import OutputPump
from paceline.launch.plan import JobPlan
from paceline.launch.process import WorkerProcess, resize_terminal
from paceline.launch.report import Report
from paceline.launch.screen import Screen
from paceline.launch.stall import StallWatch, behind
from paceline.launch.view import View

_POLL_S = 0.05
_LOOK_S = 0.5
# Workers that fail of the same cause end within a moment; the first of them is told by its journal.
_SETTLE_S = 0.3
# A large process takes this long to end after its sockets are closed, which is when its peers notice.
_ECHO_S = 2.0
# Ctrl-C ends everything within 10 s: a worker has this long, what is left of it is killed.
_INTERRUPT_S = 7.0
# A page that has not changed for so long is reason to ask the kernel whether its worker is stopped.
_STILL_S = 2.0


class _Ended(NamedTuple):
    code: int
    kind: restart.Kind
    rank: int | None = None


class Supervisor:
    """Watches the workers of one attempt.

    Args:
        plan: The job.
        workers: Its processes, by rank.
        pump: What carries their output.
        screen: The person's terminal.
        interrupts: Signals that came.
        report: Says what happened.
    """

    def __init__(
        self,
        plan: JobPlan,
        workers: Sequence[WorkerProcess],
        pump: OutputPump,
        screen: Screen,
        interrupts: Interrupts,
        report: Report,
    ) -> None:
        self._plan = plan
        self._workers = workers
        self._pump = pump
        self._screen = screen
        self._interrupts = interrupts
        self._report = report
        self._readers = [StatusReader(worker.directory / "status") for worker in workers]
        self._tails = [Tail(worker.directory / "journal.jsonl") for worker in workers]
        self._statuses: dict[int, Status] = {}
        self._ready: set[int] = set()
        self._waiting: dict[int, verdict.Waiting] = {}
        self._view = View()
        self._stall = StallWatch(plan.stall_s)
        self._began = time.monotonic()
        self._next_look = 0.0
        self._ending = workers[0].directory.parent / "ending" if workers else None

    def watch(self) -> restart.Outcome:
        """Returns how the attempt ended, once every worker has."""
        code, kind, rank = self._watch()
        self._look()
        step = max((status.step for status in self._statuses.values()), default=0)
        return restart.Outcome(code=code, kind=kind, rank=rank, step=step)

    def _watch(self) -> _Ended:
        while True:
            if self._interrupts.first is not None:
                return self._end_by_signal(self._interrupts.first)
            codes = self._codes()
            if any(codes.values()):
                return self._end_by_failure()
            if len(codes) == len(self._workers):
                return _Ended(0, restart.Kind.DONE)
            if time.monotonic() >= self._next_look:
                self._next_look = time.monotonic() + _LOOK_S
                self._look()
                limit = self._limit_reached(codes)
                if limit is not None:
                    return self._end_by_limit(limit)
            time.sleep(_POLL_S)

    def _codes(self) -> dict[int, int]:
        polled = {worker.rank: worker.poll() for worker in self._workers}
        return {rank: code for rank, code in polled.items() if code is not None}

    def _look(self) -> None:
        """Reads pages and journals, and shows them."""
        now = time.time()
        self._statuses = {rank: reader.read() for rank, reader in enumerate(self._readers)}
        self._waiting = verdict.follow_waiting(self._waiting, self._statuses, now)
        waiting, behind = verdict.waited_for(self._waiting, self._statuses, now, verdict.WAIT_LIMIT_S)
        self._report.waits(waiting, behind, self._statuses)
        for rank, tail in enumerate(self._tails):
            for event in tail.poll():
                if event.kind == "ready":
                    self._ready.add(rank)
                elif event.kind == "note":
                    self._report.note(str(event.fields.get("text", "")))
        if self._interrupts.resized:
            self._interrupts.resized = False
            for worker in self._workers:
                if worker.has_terminal and worker.poll() is None:
                    resize_terminal(worker.stdout_fd, self._screen.size())
        if self._screen.with_view:
            self._screen.show(self._view.lines(self._statuses, self._codes(), now))

    def _limit_reached(self, codes: dict[int, int]) -> LimitReached | None:
        passed_s = time.monotonic() - self._began
        late = [w.rank for w in self._workers if w.rank not in self._ready and w.rank not in codes]
        if late and passed_s > self._plan.start_s:
            return self._report.not_ready(late, self._statuses, passed_s)
        ended = [rank for rank, status in self._statuses.items() if rank in codes or status.phase == Phase.END]
        alone = verdict.left_alone(ended, self._waiting, time.time(), verdict.END_LIMIT_S)
        return self._report.left_alone(ended, alone, self._statuses) if alone else self._stalled(codes)

    def _stalled(self, codes: dict[int, int]) -> LimitReached | None:
        running = {rank: status for rank, status in self._statuses.items() if rank not in codes}
        still_s = self._stall.look(running, time.monotonic())
        if still_s < _STILL_S or len(self._ready) < len(self._workers):
            return None
        stopped = [rank for rank in running if stacks.state_of(self._workers[rank].pid) in ("T", "t")]
        limit_s = self._stall.limit_s(stopped)
        if limit_s is None or still_s < limit_s:
            return None
        return self._report.stalled(stopped or behind(running), stopped, running, still_s)

    def _end_by_signal(self, number: signal.Signals) -> _Ended:
        self._screen.show(())
        self._report.ending(number)
        # SIGTERM comes from a scheduler: --grace tells what there is time for. A person at a terminal is in a hurry.
        self._end_all(number, self._plan.grace_s if number == signal.SIGTERM else _INTERRUPT_S)
        return _Ended(128 + number, restart.Kind.STOPPED)

    def _end_by_failure(self) -> _Ended:
        failures = self._settled_failures()
        others = [worker for worker in self._workers if worker.poll() is None]
        self._look()
        statuses = dict(self._statuses)
        self._say_that_it_ends()
        self._end_all(signal.SIGTERM, self._plan.grace_s)
        if self._interrupts.first is not None and not failures:
            return _Ended(128 + self._interrupts.first, restart.Kind.STOPPED)
        self._pump.finish()
        self._screen.show(())
        self._report.failure(failures, [worker.rank for worker in others], statuses, self._pump)
        first = verdict.first_failure(failures)
        return _Ended(first.code, restart.kind_of(first, oom_kills=self._report.oom_kills), first.rank)

    def _settled_failures(self) -> list[verdict.Failure]:
        """Returns the failures of a moment; an echo alone is waited for a little longer: its cause is still ending."""
        began = time.monotonic()
        while True:
            time.sleep(_SETTLE_S)
            failures = [self._failure(rank, code) for rank, code in self._codes().items() if code]
            is_echo = all(failure.is_of_lost_peers for failure in failures)
            if not is_echo or len(failures) == len(self._workers) or time.monotonic() - began > _ECHO_S:
                return failures

    def _end_by_limit(self, limit: LimitReached) -> _Ended:
        # At once: what follows may take as long as the grace time.
        self._screen.show(())
        self._report.limit(limit)
        stacks.save(self._workers)
        self._say_that_it_ends()
        self._end_all(signal.SIGTERM, self._plan.grace_s)
        self._pump.finish()
        return _Ended(EXIT_LIMIT, restart.Kind.LIMIT)

    def _say_that_it_ends(self) -> None:
        """Leaves word for the workers that nothing is to be waited for: a checkpoint takes all of them."""
        if self._ending is not None:
            with contextlib.suppress(OSError):  # a full disk; then they take all of the grace time
                self._ending.touch()

    def _end_all(self, number: signal.Signals, patience_s: float) -> None:
        """Ends every worker: ``number`` at first; SIGKILL after ``patience_s``, or when a person insists."""
        began, insisted = time.monotonic(), self._interrupts.count
        for worker in self._workers:
            worker.send(self._signal_for(worker, number))
            if worker.poll() is None and stacks.state_of(worker.pid) == "T":
                worker.kill_group()  # it hears of nothing else
        while len(self._codes()) < len(self._workers):
            if self._interrupts.count > insisted and number != self._interrupts.first:
                # Ctrl-C while the job is being ended after a failure: hurry, but politely once.
                insisted, number = self._interrupts.count, self._interrupts.first or number
                patience_s = min(patience_s, time.monotonic() - began + _INTERRUPT_S)
            elif self._interrupts.count > insisted or time.monotonic() - began > patience_s:
                break
            time.sleep(_POLL_S)
        for worker in self._workers:
            worker.kill_group()
        for worker in self._workers:
            worker.wait(2.0)

    def _signal_for(self, worker: WorkerProcess, number: signal.Signals) -> signal.Signals:
        """Returns what ends a worker: before its script has begun, Ctrl-C would show frames of imports only."""
        has_begun = self._readers[worker.rank].read().phase not in (Phase.START, Phase.CONNECT)
        return signal.SIGTERM if number == signal.SIGINT and not has_begun else number

    def _failure(self, rank: int, code: int) -> verdict.Failure:
        worker = self._workers[rank]
        events = read(worker.directory / "journal.jsonl")
        return verdict.make_failure(rank, code, worker.ended_at or time.time(), events)
