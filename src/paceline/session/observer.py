"""What a session does around training: the same model on all workers, a live status, events."""

from __future__ import annotations

import contextlib
import math
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from paceline.collectives.transport import Transport
from paceline.errors import ScriptRefused
from paceline.journal.status import Phase
from paceline.resume.keeper import Keeper
from paceline.session.stored import StoredDecisions
from paceline.session.watch import StatusWatch
from paceline.training import agreement, decisions, drift, progress

#: The loss and the counters are read from the device this often: reading waits for the step.
_LOOK_EVERY_S = 0.5
_PHASES = {
    "evaluate": Phase.EVALUATE,
    "test_on_batch": Phase.EVALUATE,
    "predict": Phase.PREDICT,
    "predict_on_batch": Phase.PREDICT,
}


class SessionObserver:
    """See `paceline.training.making.Observer`."""

    def __init__(
        self,
        transport: Transport,
        journal: Any,
        watch: StatusWatch,
        stored: StoredDecisions,
        keeper: Keeper | None = None,
    ) -> None:
        self._stored = stored
        self._keeper = keeper
        self._transport = transport
        self._journal = journal
        self._watch = watch
        self._status = watch.status
        self._calls: list[tuple[str, Any]] = []  # name and model, the innermost last
        self._due: weakref.WeakSet[Any] = weakref.WeakSet()
        self._checked: weakref.WeakSet[Any] = weakref.WeakSet()
        self._step = 0
        self._samples = 0
        self._fits = 0
        self._loss = math.nan
        self._looked_at = 0.0
        self._epoch, self._place, self._steps_per_epoch = 0, 0, -1

    @contextlib.contextmanager
    def running(self, what: str, model: Any) -> Iterator[None]:
        """Marks a call; around the outermost `fit`, checks that all workers end with one model. Collective: yes.

        Raises:
            ScriptRefused: They read different data, or end with different models.
        """
        outermost = not self._calls
        self._calls.append((what, model))
        self._watch.calls.begins(what)
        before = self._status.phase
        if outermost and (what in ("fit", "evaluate") or model not in self._checked):
            self._due.add(model)
            self._checked.add(model)
        if what == "fit":
            self._fits += 1
            self._journal.event("fit_begin", fit=self._fits, model=model.name)
        try:
            yield
            check_same_data()
            if what == "fit":
                drift.check_end(model, self._transport)
                self._journal.event("fit_end", fit=self._fits)
        finally:
            self._calls.pop()
            self._watch.calls.ends()
            self._status.set_phase(before)

    def before_step(self, model: Any, trace: Callable[[], None]) -> None:
        """Before the first step of a call, builds the model and makes sure that it is the same everywhere."""
        if model in self._due:
            self._status.set_phase(Phase.TRACE)
            trace()
            # Only training needs, and makes, the optimizer's variables.
            if agreement.is_built(model) or (model.built and not self._is_training()):
                self._agree(model)
        if self._keeper is not None and self._innermost == "fit":
            self._keeper.before_step(model)
        self._watch.enter_step()
        self._status.set_phase(_PHASES.get(self._innermost, Phase.STEP))

    def after_step(self, model: Any, result: Any, steps: int) -> None:
        """Keeps the status page; checks a model that was only built by its first step."""
        if model in self._due:
            self._agree(model)
        if self._keeper is not None and self._is_training():
            self._count(self._keeper, model, result, steps)
        elif self._is_training():
            self._step += steps
            self._place += steps
        if self._is_training():
            now = time.monotonic()
            if now - self._looked_at > _LOOK_EVERY_S:
                self._looked_at = now
                self._look(result)
            self._status.set_step(
                self._step, self._epoch, self._place, self._steps_per_epoch, samples=self._samples, loss=self._loss
            )
        self._status.set_phase(Phase.CALLBACK if self._calls else Phase.SCRIPT)

    def _count(self, keeper: Keeper, model: Any, logs: Any, steps: int) -> None:
        """Counts steps where a run may go on from a checkpoint."""
        keeper.step += steps
        self._place += steps
        if self._innermost == "fit":
            keeper.after_step(model, logs, steps)
            if keeper.fit is not None:
                self._place = keeper.fit.place
        else:
            decisions.tell(
                "train_on_batch is not part of checkpoints: after an interruption it runs again from its begin"
            )
        self._step = keeper.step

    def decided(self, model: Any, step: str, choice: Any) -> Any:
        """Returns whether XLA compiles a step, as decided before in this run or now; says so where it does."""
        name = f"XLA for the {step} of {model.name}, fit {self._fits}"
        choice = type(choice)(*self._stored.decide(name, choice.use, choice.reason))
        self._journal.event("decision", name=name, value=choice.use, reason=choice.reason)
        if choice.use != bool(model.jit_compile):  # not what the script said
            compiles = "compiles" if choice.use else "does not compile"
            decisions.tell(f"{model.name}: XLA {compiles} its {step}: {choice.reason}")
        return choice

    def chief_says(self, number: int) -> int:
        """Returns the chief's number. Collective: yes."""
        if self._transport.size == 1:
            return number
        mine = number if self._transport.rank == 0 else 0
        return int(self._transport.all_reduce_host(np.array([mine], np.int64))[0])

    def epoch_begins(self, epoch: int, steps: int | None) -> None:
        """Notes the epoch for the live view; `steps` is None while nobody knows."""
        self._epoch, self._place, self._steps_per_epoch = epoch, 0, -1 if steps is None else steps

    def epoch_ends(self, epoch: int, logs: dict[str, Any]) -> None:
        """Notes the logs of an epoch, which are the same on every worker. Collective: yes."""
        self._journal.event("epoch", epoch=epoch, logs=logs)
        model = self._calls[-1][1] if self._calls else None
        if model is not None and model not in self._due:
            drift.check_epoch(model, self._transport)

    def _look(self, logs: Any) -> None:
        """Reads what is counted on the device, and refuses workers that read different data."""
        self._loss = _loss_of(logs)
        self._samples = progress.rows_trained()
        check_same_data()

    def _is_training(self) -> bool:
        return self._innermost in ("fit", "train_on_batch")

    @property
    def _innermost(self) -> str:
        return self._calls[-1][0] if self._calls else ""

    def _agree(self, model: Any) -> None:
        self._due.discard(model)
        if self._transport.size == 1:
            return
        replaced = agreement.check_same_model(model, self._transport)
        agreement.tell_replaced(model.name, replaced)


def _loss_of(logs: Any) -> float:
    try:
        return float(logs["loss"])
    except (KeyError, TypeError, ValueError):
        return math.nan


def check_same_data() -> None:
    """Raises ScriptRefused if a step has seen that the workers read different global batches. Collective: no."""
    steps = progress.steps_with_different_data()
    if steps:
        raise ScriptRefused(
            "The workers read different data, so what each took of a batch is not a part of one batch.",
            got=f"{steps} step{'s' if steps != 1 else ''} whose global batch was not the same on every worker",
            expected="the same batches in the same order on every worker; paceline gives each worker its rows of them",
            fix="take out the script's own sharding, or hand fit what "
            "paceline.strategy().distribute_datasets_from_function(make_dataset) returns; sort lists of files and what "
            "comes from sets; let Python functions draw from a generator that they seed themselves "
            "(np.random.default_rng(1)), and nothing depend on the worker, the host or the time",
        )
