"""Puts a `Keeper` around Keras' `fit` and into its loop."""

from __future__ import annotations

import functools
import inspect
import threading
from typing import Any

from keras.src.backend.tensorflow import trainer as keras_trainer
from keras.src.callbacks.callback_list import CallbackList

from paceline.resume import told
from paceline.resume.fits import Built, Fit
from paceline.resume.keeper import Keeper
from paceline.resume.position import Followed
from paceline.training import decisions, own_loop, progress
from paceline.training.pace import current_loop


def install(keeper: Keeper, strategy: Any) -> None:
    """Puts the hooks in place, around all others. Once per worker, before the script.

    Args:
        keeper: Takes checkpoints.
        strategy: The job's.
    """
    progress.mark_batches()
    strategy.around_run = _telling(strategy.around_run)
    trainer = keras_trainer.TensorFlowTrainer
    trainer.fit = _fit(keeper, trainer.fit)
    trainer._get_metrics_result_or_logs = _with_last_logs(keeper, trainer._get_metrics_result_or_logs)
    _follow(keeper, keras_trainer.TFEpochIterator)
    CallbackList.on_train_begin = _on_train_begin(keeper, CallbackList.on_train_begin)
    CallbackList.on_epoch_begin = _on_epoch_begin(keeper, CallbackList.on_epoch_begin)


def _telling(original: Any) -> Any:
    @functools.wraps(original)
    def around_run(function: Any) -> Any:
        if own_loop.is_own(function):
            decisions.tell(
                "a loop of the script's own (strategy.run) is not part of checkpoints: after an interruption it runs "
                "again from its begin"
            )
        return original(function)

    return around_run


def _fit(keeper: Keeper, original: Any) -> Any:
    signature = inspect.signature(original)

    @functools.wraps(original)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        if keeper.fit is not None or threading.current_thread() is not threading.main_thread():
            return original(self, *args, **kwargs)  # inside another one
        bound = signature.bind(self, *args, **kwargs)
        current = keeper.fit = keeper.begin(self, bound.arguments.get("callbacks"))
        initial_epoch = self._initial_epoch
        current.validation_data = bound.arguments.get("validation_data")
        try:
            if current.only_builds:
                return _ended(keeper, current, original, bound)
            current.rewind_files(is_chief=keeper.is_chief, tell=keeper.tell)
            result = original(self, *args, **kwargs)
            keeper.ends(current)
            return result
        finally:
            keeper.fit = None
            self._initial_epoch = initial_epoch  # Keras would begin the model's next fit there too

    return fit


def _ended(keeper: Keeper, current: Fit, original: Any, bound: inspect.BoundArguments) -> Any:
    """Makes the variables of a model whose fit had ended, and gives them their values."""
    bound.arguments.update(callbacks=None, validation_data=None, verbose=0)
    try:
        original(*bound.args, **bound.kwargs)
    except Built:
        pass
    return keeper.had_ended(current)


def _with_last_logs(keeper: Keeper, original: Any) -> Any:
    @functools.wraps(original)
    def results_or_logs(self: Any, logs: Any) -> Any:
        fit = keeper.fit
        if fit is not None and fit.model is self and not logs and fit.place:
            logs = fit.last_logs  # no step was left of the epoch that went on
        return original(self, logs)

    return results_or_logs


def _follow(keeper: Keeper, owner: Any) -> None:
    init, get_iterator = owner.__init__, owner._get_iterator

    @functools.wraps(init)
    def followed_init(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        fit, loop = keeper.fit, current_loop()
        if fit is None or loop is None or (fit.loop is not None and loop is not fit.loop):
            return
        if fit.training is None:
            fit.loop = loop
            loop.between = keeper.between
            fit.training = self._paceline_followed = Followed(self)
        elif fit.validation is None:
            fit.validation = self._paceline_followed = Followed(self)
            if fit.saved is not None:
                fit.validation.made = fit.saved.meta["validation"]

    @functools.wraps(get_iterator)
    def followed_get_iterator(self: Any) -> Any:
        return getattr(self, "_paceline_followed", None) or get_iterator(self)

    owner.__init__ = followed_init
    owner._get_iterator = followed_get_iterator


def _on_train_begin(keeper: Keeper, original: Any) -> Any:
    @functools.wraps(original)
    def on_train_begin(self: Any, logs: Any = None) -> None:
        original(self, logs)
        fit = keeper.fit
        if fit is None or current_loop() is not fit.loop or fit.only_builds:
            return
        fit.listed = list(self.callbacks)
        if fit.saved is not None:
            fit.set_callbacks(keeper.tell)
            self.model._initial_epoch = int(fit.saved.meta["epoch"])
        else:
            told.what_is_not_exact(fit)

    return on_train_begin


def _on_epoch_begin(keeper: Keeper, original: Any) -> Any:
    @functools.wraps(original)
    def on_epoch_begin(self: Any, epoch: int, logs: Any = None) -> None:
        fit = keeper.fit
        if fit is not None and current_loop() is fit.loop:
            fit.epoch, fit.place = epoch, 0
        original(self, epoch, logs)

    return on_epoch_begin
