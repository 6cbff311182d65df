"""Callbacks decide alike: if one worker's callback stops training, all stop at the same point.

Logs are the same on every worker, so EarlyStopping and its like agree by themselves.
A callback that looks at a clock, at the disk or at its own random numbers does not.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
from keras.src.callbacks.callback_list import CallbackList

from paceline.collectives.transport import Transport
from paceline.training.pace import current_loop

#: Callbacks of Keras whose batch hooks never stop anything.
_HARMLESS = (
    keras.callbacks.History,
    keras.callbacks.ProgbarLogger,
    keras.callbacks.ModelCheckpoint,
    keras.callbacks.TensorBoard,
    keras.callbacks.BackupAndRestore,
    keras.callbacks.CSVLogger,
)


#: What only shows where training is, and does so by time.
_BARS = (keras.callbacks.History, keras.callbacks.ProgbarLogger)


class _Loop(NamedTuple):
    """One of Keras' loops: the attribute of the model that ends it, and the hooks that may set that."""

    name: str
    stop: str
    begin: str
    batch_end: str
    batch_hooks: tuple[str, ...]


_TRAIN = _Loop(
    "train",
    "stop_training",
    "on_train_begin",
    "on_train_batch_end",
    ("on_batch_begin", "on_batch_end", "on_train_batch_begin", "on_train_batch_end"),
)
_TEST = _Loop(
    "test", "stop_evaluating", "on_test_begin", "on_test_batch_end", ("on_test_batch_begin", "on_test_batch_end")
)
_PREDICT = _Loop(
    "predict",
    "stop_predicting",
    "on_predict_begin",
    "on_predict_batch_end",
    ("on_predict_batch_begin", "on_predict_batch_end"),
)


def install(transport: Transport) -> None:
    """Agrees on the end of a loop after the hooks that may ask for it. Once per worker; one small sum for each.

    A callback may stand in the list of one worker only (`callbacks=[...] if is_chief()
    else []`), so whether batches need agreeing on is agreed on too, when a loop begins.
    """
    for loop in (_TRAIN, _TEST, _PREDICT):
        setattr(CallbackList, loop.begin, _beginning(getattr(CallbackList, loop.begin), transport, loop))
        setattr(CallbackList, loop.batch_end, _agreeing(getattr(CallbackList, loop.batch_end), transport, loop))
    # A hook may be set on a callback that others set up, or by a callback on itself, when training has begun.
    CallbackList.on_epoch_begin = _beginning(CallbackList.on_epoch_begin, transport, _TRAIN)
    if transport.size == 1:
        return
    for name in ("on_epoch_begin", "on_epoch_end"):
        setattr(CallbackList, name, _agreeing(getattr(CallbackList, name), transport, _TRAIN, every_time=True))


def _beginning(original: Any, transport: Transport, loop: _Loop) -> Any:
    @functools.wraps(original)
    def hook(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        stops = any(_may_stop_at_a_batch(callback, loop) for callback in self.callbacks)
        looks = any(_looks_at_batches(callback, loop) for callback in self.callbacks)
        stops, looks = _any_worker([stops, looks], transport)
        setattr(self, f"_paceline_{loop.name}", stops)
        running = current_loop()
        if running is not None and loop is not _PREDICT:
            running.pace.allowed = not looks
        return result

    return hook


def _agreeing(original: Any, transport: Transport, loop: _Loop, *, every_time: bool = False) -> Any:
    @functools.wraps(original)
    def hook(self: Any, *args: Any, **kwargs: Any) -> Any:
        running = current_loop()
        if not every_time and running is not None and running.done and loop is not _PREDICT:
            args = (running.done - 1, *args[1:])
        result = original(self, *args, **kwargs)
        agrees = every_time or getattr(self, f"_paceline_{loop.name}", False)
        if agrees and _any_worker([bool(getattr(self.model, loop.stop, False))], transport)[0]:
            setattr(self.model, loop.stop, True)
        return result

    return hook


def _any_worker(mine: Sequence[bool], transport: Transport) -> list[bool]:
    """Returns of each whether it is so on any worker. Collective: yes."""
    return [bool(count > 0) for count in transport.all_reduce_host(np.array(mine, np.int32))]


def _looks_at_batches(callback: Any, loop: _Loop) -> bool:
    """Returns whether a callback does anything at single batches; then each is a call of its own."""
    if type(callback) in {keras.callbacks.ModelCheckpoint, keras.callbacks.BackupAndRestore}:
        return bool(callback.save_freq != "epoch")
    if type(callback) is keras.callbacks.TensorBoard:
        return bool(callback.update_freq != "epoch" or callback._should_trace or callback.write_steps_per_second)
    return type(callback) not in _BARS and _may_stop_at_a_batch(callback, loop)


def _may_stop_at_a_batch(callback: Any, loop: _Loop) -> bool:
    if type(callback) in _HARMLESS:
        return False
    stock = keras.callbacks.Callback
    return any(
        name in vars(callback) or getattr(type(callback), name) is not getattr(stock, name) for name in loop.batch_hooks
    )
