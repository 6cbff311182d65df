"""Takes checkpoints while fits run, on all workers alike, and brings an earlier attempt's fits back."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from paceline.checkpoint.background import BackgroundWriter
from paceline.checkpoint.store import CheckpointStore, Written
from paceline.checkpoint_dir.layout import fit_name
from paceline.collectives.transport import Transport
from paceline.errors import EXIT_PREEMPTED, PacelineError
from paceline.journal.status import Phase
from paceline.resume import told
from paceline.resume.earlier import Earlier
from paceline.resume.fits import Built, Fit
from paceline.resume.interval import Interval

#: Workers look about this often whether somebody was told to end, and whether a checkpoint is due.
_AGREE_EVERY_S = 1.0
_MOST_STEPS, _GROWTH = 4096, 8
_NOBODY_ASKS = (0, 0, 0)


class Worker(NamedTuple):
    """Of which worker a `Keeper` is part.

    Attributes:
        transport: Between workers.
        journal: Its journal.
        status: Its page.
        tell: Shows a person one line.
        was_told_to_end: Whether SIGTERM has come and waits for a checkpoint.
    """

    transport: Transport
    journal: Any
    status: Any
    tell: Callable[[str], None]
    was_told_to_end: Callable[[], bool]


class Keeper:
    """Knows the fits of a script, and the checkpoint directory.

    Args:
        store: The checkpoint directory.
        interval: When one is due.
        worker: This worker.
        shares: Whether each worker writes a part of a checkpoint.

    Attributes:
        tell: Shows a person one line.
        step: The job step: training steps since the job began.
    """

    def __init__(self, store: CheckpointStore, interval: Interval, worker: Worker, *, shares: bool = False) -> None:
        self._store = store
        self._earlier = Earlier(store, worker.transport, worker.tell)
        self._writer = BackgroundWriter(store)
        self._interval = interval
        self._worker = worker
        self._transport = worker.transport
        self._is_chief = worker.transport.rank == 0
        self._shares = shares and worker.transport.size > 1
        self._fits = 0
        self._looks = True  # whether an earlier attempt may have left something for the next fit
        self._agree_at, self._agreed_at, self._agreed_step = 0, time.monotonic(), 0
        self._written_at = time.monotonic()
        self.tell = worker.tell
        self.step = 0
        self.fit: Fit | None = None

    @property
    def is_chief(self) -> bool:
        """Whether this worker writes."""
        return self._is_chief

    @property
    def is_training(self) -> bool:
        """Whether a fit runs that looks between its steps whether it is to end; asked from any thread."""
        fit = self.fit
        return fit is not None and not fit.only_builds

    # -- fits ------------------------------------------------------------------------------------

    def begin(self, model: Any, callbacks: Any) -> Fit:
        """Returns the fit that begins: a new one, one that goes on, or one that had ended. Collective: yes."""
        self._fits += 1
        number, saved, had_ended = self._fits, None, False
        if self._looks:
            saved = self._earlier.end_of(number)
            had_ended = saved is not None
            if saved is None:
                self._looks = False
                saved = self._earlier.newest_of(number)
        begin = self.step if saved is None else int(saved.meta["begin"])
        return Fit(number, model, callbacks, begin=begin, saved=saved, only_builds=had_ended)

    def goes_on(self, fit: Fit) -> None:
        """Says that a fit goes on from a checkpoint."""
        assert fit.saved is not None  # noqa: S101  for mypy
        where = self._where(fit)
        self._continues_at(fit.saved.step)
        self._worker.journal.event("resumed", step=self.step, **{"from": where})
        told.another_number(fit.saved.num_workers, self._transport.size)
        if self._is_chief:
            self.tell(told.goes_on(fit, where))

    def had_ended(self, fit: Fit) -> Any:
        """Returns the History of a fit that was run to make its model only; its end is the checkpoint's."""
        assert fit.saved is not None  # noqa: S101  for mypy
        where = self._where(fit)
        history = fit.give_back(where, self.tell)
        self._continues_at(int(fit.saved.meta["step"]))
        self._worker.journal.event("resumed", step=self.step, fit=fit.number, **{"from": where})
        if self._is_chief:
            self.tell(f"{fit.model.name}: fit {fit.number} had ended: its end is taken from {where}")
        return history

    def _continues_at(self, step: int) -> None:
        self.step = self._agreed_step = step
        self._agreed_at, self._agree_at = time.monotonic(), step

    def _where(self, fit: Fit) -> str:
        assert fit.saved is not None  # noqa: S101  for mypy
        if fit.only_builds:
            return f"{self._store.path}/{fit_name(fit.number)}"
        return self._store.path_of(fit.saved.step)

    def before_step(self, model: Any) -> None:
        """Puts a checkpoint in place, before the first step of a fit that goes on. Collective: no."""
        fit = self.fit
        if fit is None or model is not fit.model:
            return
        if fit.only_builds:
            raise Built
        if fit.is_waiting:
            fit.arrive(self._where(fit))
            self.goes_on(fit)

    def after_step(self, model: Any, logs: Any, steps: int) -> None:
        """Counts steps. Collective: no."""
        fit = self.fit
        if fit is not None and model is fit.model and fit.training is not None:
            fit.place += steps
            fit.training.read += steps
            fit.has_run = True
            fit.last_logs = logs

    # -- between two groups of steps -------------------------------------------------------------

    def between(self, epoch_iterator: Any) -> None:
        """Called by Keras' loop before it takes the next steps. Collective: where workers agree, on all alike.

        Raises:
            SystemExit: Somebody was told to end, and there is a checkpoint now.
        """
        fit = self.fit
        if fit is None or fit.only_builds or fit.training is None or fit.training.epoch_iterator is not epoch_iterator:
            return
        if fit.is_waiting:
            self._catch_up(fit, epoch_iterator)
            return
        if fit.place == 0:
            fit.training.seen_before = epoch_iterator._steps_seen
        limit = epoch_iterator.steps_per_epoch or epoch_iterator._num_batches
        if limit and fit.place >= limit:
            return  # the epoch is over: its end comes before the first step of the next one
        left = self._interval.steps_left(self.step)
        due = left is not None and left == self._interval.steps
        if self.step >= self._agree_at or fit.place == 0:
            asked, wanted, steps = self._agree(fit)
            self._agree_at = self.step + steps
            if asked:
                self._preempt(fit)
            due = due or bool(wanted)
        if due and fit.has_run:
            self._take(fit)
        fit.loop.most = self._agree_at - self.step
        if left is not None:
            fit.loop.most = min(fit.loop.most, left)

    def _agree(self, fit: Fit) -> tuple[int, int, int]:
        """Returns whether anybody was told to end, whether the chief wants one, and when to look again."""
        now = time.monotonic()
        mine = np.array([self._worker.was_told_to_end(), *_NOBODY_ASKS[1:]], np.int64)
        if self._is_chief:
            done, passed = self.step - self._agreed_step, now - self._agreed_at
            fits = max(1, round(done * _AGREE_EVERY_S / max(passed, 1e-9)))
            since = now - self._written_at
            # Where the data may not come back as they were, the begin of each epoch is a place to go back to.
            is_safe_place = fit.place == 0 and fit.training is not None and fit.training.calls_python
            mine[1:] = (
                self._interval.is_over(since) or (is_safe_place and since > _AGREE_EVERY_S),
                max(1, min(_MOST_STEPS, fits, max(done, 1) * _GROWTH)),
            )
        self._agreed_at, self._agreed_step = now, self.step
        asked, wanted, steps = (int(number) for number in self._transport.all_reduce_host(mine))
        return asked, wanted, steps

    def _catch_up(self, fit: Fit, epoch_iterator: Any) -> None:
        """Puts the data in place, at another checkpoint where they are others. Collective: yes."""
        same = fit.come_back(self.tell)
        different = int(self._transport.all_reduce_host(np.array([same is False], np.int64))[0])
        if different:
            assert fit.saved is not None  # noqa: S101  for mypy
            older = self._earlier.begin_of_epoch(fit.saved)
            self.tell(told.different_data(fit, None if older is None else older.step))
            if older is not None:
                fit.saved = older
                fit.come_back(self.tell)
        fit.pass_over(epoch_iterator)
        fit.set_callbacks(self.tell)

    def _take(self, fit: Fit, *, waits: bool = False) -> None:
        """Takes a checkpoint: training waits for the copy, with `waits` for all of it."""
        phase = self._worker.status.phase
        self._worker.status.set_phase(Phase.CHECKPOINT)
        began = time.monotonic()
        try:
            if self._shares:
                self._write_share(fit)
            elif self._is_chief:
                tensors, meta = fit.capture(is_chief=True)
                copies = self._writer.copy(tensors)
                self._writer.submit(self.step, copies, {**meta, "step": self.step}, then=self._written)
                if waits:
                    self._writer.flush()
        finally:
            self._worker.status.set_phase(phase)
        self._written_at = time.monotonic()
        if self._is_chief and self._interval.costs(self._written_at - began):
            self.tell(f"checkpoints: {self._interval.describe()}, one costs {self._written_at - began:.2f} s")

    def _write_share(self, fit: Fit) -> None:
        """Writes this worker's part; training waits. Collective: yes."""
        tensors, meta = fit.capture(is_chief=self._is_chief)
        rank, size = self._transport.rank, self._transport.size
        # What callbacks and data know is the chief's; of variables each worker has the same.
        names = [name for name in tensors if not name.startswith("state/")]
        names = sorted(names, key=lambda name: (-tensors[name].nbytes, name))[rank::size]
        names += [name for name in tensors if self._is_chief and name.startswith("state/")]
        mine = {name: tensors[name] for name in names}
        try:
            written = self._store.write(
                self.step, mine, {**meta, "step": self.step}, (rank, size), self._transport.barrier
            )
        except PacelineError as error:
            self.tell(f"no checkpoint of step {self.step}; training goes on. {error.render()}")
        else:
            if self._is_chief:
                self._written(written)

    def _written(self, written: Written) -> None:
        self._worker.journal.event(
            "checkpoint", step=written.step, path=written.path, seconds=written.seconds, bytes=written.bytes
        )

    def _preempt(self, fit: Fit) -> None:
        if fit.has_run:
            self._take(fit, waits=True)
        self._leave()

    def _leave(self) -> None:
        """Ends this worker, when all have come here. Collective: yes."""
        self._transport.barrier()  # who left first would be a failure to the others
        self._worker.journal.event("preempted", step=self.step)
        if self._is_chief:
            self.tell(f"told to end, at step {self.step}; the same command goes on from the last checkpoint")
        raise SystemExit(EXIT_PREEMPTED)

    def ends(self, fit: Fit) -> None:
        """Keeps how a fit ended. Collective: yes.

        Raises:
            SystemExit: Somebody was told to end.
        """
        phase = self._worker.status.phase
        self._worker.status.set_phase(Phase.CHECKPOINT)
        try:
            if self._is_chief:
                self._writer.flush()
                tensors, meta = fit.capture(is_chief=True)
                self._written(self._store.write_fit(fit.number, tensors, {**meta, "step": self.step}))
        except PacelineError as error:
            self.tell(f"how fit {fit.number} ended is not kept; training goes on. {error.render()}")
        finally:
            self._worker.status.set_phase(phase)
        asked = self._transport.all_reduce_host(np.array([self._worker.was_told_to_end()], np.int64))
        if asked[0]:
            self._leave()

    def close(self) -> None:
        """Waits for what is being written."""
        self._writer.flush()
