"""Makes the functions that Keras' loops call; the observer is told of each call."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable
from typing import Any, Protocol

import tensorflow as tf

from paceline.training import decisions, jit, losses, own_size
from paceline.training.functions import iterating_function
from paceline.training.pace import Loop, current_loop
from paceline.training.prediction import predict_function
from paceline.training.step import Kind

_STEP_NAMES = {Kind.FIT: "training step", Kind.TEST: "test step"}


class Observer(Protocol):
    """What the session wants to know of, and do around, training."""

    def running(self, what: str, model: Any) -> contextlib.AbstractContextManager[None]:
        """Entered around a whole `fit`, `evaluate`, `predict` or `_on_batch` call that is not inside another."""
        ...

    def before_step(self, model: Any, trace: Callable[[], None]) -> None:
        """Called before each execution of steps; `trace()` builds the model and the graph without running it."""
        ...

    def after_step(self, model: Any, result: Any, steps: int) -> None:
        """Called after each execution with how many steps it had, and its logs or the outputs of a prediction."""
        ...

    def decided(self, model: Any, step: str, choice: jit.Choice) -> jit.Choice:
        """Returns whether XLA compiles a step of a model: as it was decided before in this run, or as `choice` says."""
        ...

    def chief_says(self, number: int) -> int:
        """Returns the chief's number. Collective: yes."""
        ...


def making(attribute: str, kind: Kind, observer: Observer) -> Callable[..., Any]:
    """Returns Keras' `make_train_function` or `make_test_function`, whose function tells the observer of each call."""

    def make(self: Any, force: bool = False) -> Any:
        loop, built = current_loop(), getattr(self, attribute)
        if built is not None and not force and (loop is None or kind is not Kind.FIT):
            return built
        options = self.distribute_strategy.extended.step_options
        choice = jit.choose(self, options, loop if kind is Kind.FIT else None)
        choice = observer.decided(self, _STEP_NAMES[kind], choice)
        if built is not None and not force and getattr(built, "paceline_compiled", None) == choice.use:
            return built
        inner = iterating_function(self, kind, observer.before_step, compiled=choice.use)
        if self.distribute_strategy.num_replicas_in_sync > 1:
            for name in losses.of_whole_batches(self):
                decisions.tell(
                    f"{self.name}: the loss {name} looks at a whole batch; here at each replica's rows of it"
                )

        def function(data: Any) -> Any:
            return _timed(
                inner, data, current_loop(), lambda result: observer.after_step(self, result.logs, result.steps)
            )

        kept = _kept_if_it_works(self, attribute, function)
        kept.paceline_compiled = choice.use  # type: ignore[attr-defined]  # read above, when it is to be made again
        setattr(self, attribute, kept)
        return kept

    return make


def _timed(inner: Callable[[Any], Any], data: Any, loop: Loop | None, tell: Callable[[Any], None]) -> Any:
    """Runs an execution of steps and returns its logs; the loop's pace learns how long it took."""
    began = time.perf_counter()
    result = inner(data)
    if loop is not None:
        if loop.pace.measures:
            tf.nest.map_structure(lambda log: log.numpy() if hasattr(log, "numpy") else log, result.logs)
        loop.ran(result.steps, time.perf_counter() - began, paused=result.paused)
    tell(result)
    return result.logs


def making_predict(observer: Observer) -> Callable[..., Any]:
    """Returns Keras' `make_predict_function`, whose function tells the observer of each call."""

    def make(self: Any, force: bool = False) -> Any:
        if self.predict_function is None or force:
            inner = predict_function(self, observer.before_step)

            def function(data: Any) -> Any:
                outputs = inner(data)
                observer.after_step(self, outputs, self.steps_per_execution)
                return outputs

            self.predict_function = _kept_if_it_works(self, "predict_function", function)
        return self.predict_function

    return make


def _kept_if_it_works(model: Any, attribute: str, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Returns `function`, which its model forgets if it fails before it has ever ended well. Collective: as `function`.

    A `tf.function` whose first trace raised is left half made (2.19 to 2.21): called again with other shapes it runs a
    function that it does not have. A script may catch the error and go on with other data.
    """
    works = False

    @functools.wraps(function)
    def tried(data: Any) -> Any:
        nonlocal works
        try:
            with own_size.hinted(model.distribute_strategy.num_replicas_in_sync):
                result = function(data)
        except (StopIteration, tf.errors.OutOfRangeError):  # no more data: Keras goes on with the function
            raise
        except Exception:
            if not works:
                setattr(model, attribute, None)
            raise
        works = True
        return result

    return tried
