"""Callbacks decide alike: if one worker's callback stops training, all stop at the same point.

Logs are the same on every worker, so EarlyStopping and its like agree by themselves.
A callback that looks at a clock, at the disk or at its own random numbers does not.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import keras
import numpy as np
from keras.src.callbacks.callback_list import CallbackList

from paceline.collectives.transport import Transport

#: Callbacks of Keras whose batch hooks never stop anything.
_HARMLESS = (
    keras.callbacks.History,
    keras.callbacks.ProgbarLogger,
    keras.callbacks.ModelCheckpoint,
    keras.callbacks.TensorBoard,
    keras.callbacks.BackupAndRestore,
    keras.callbacks.CSVLogger,
)


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
    if transport.size == 1:
        return
    for loop in (_TRAIN, _TEST, _PREDICT):
        setattr(CallbackList, loop.begin, _beginning(getattr(CallbackList, loop.begin), transport, loop))
        setattr(CallbackList, loop.batch_end, _agreeing(getattr(CallbackList, loop.batch_end), transport, loop))
    for name in ("on_epoch_begin", "on_epoch_end"):
        setattr(CallbackList, name, _agreeing(getattr(CallbackList, name), transport, _TRAIN, every_time=True))


def _beginning(original: Any, transport: Transport, loop: _Loop) -> Any:
    @functools.wraps(original)
    def hook(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        mine = any(_may_stop_at_a_batch(callback, loop) for callback in self.callbacks)
        setattr(self, f"_paceline_{loop.name}", _any_worker(mine, transport))
        return result

    return hook


def _agreeing(original: Any, transport: Transport, loop: _Loop, *, every_time: bool = False) -> Any:
    @functools.wraps(original)
    def hook(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        agrees = every_time or getattr(self, f"_paceline_{loop.name}", False)
        if agrees and _any_worker(bool(getattr(self.model, loop.stop, False)), transport):
            setattr(self.model, loop.stop, True)
        return result

    return hook


def _any_worker(mine: bool, transport: Transport) -> bool:
    """Returns whether it is so on any worker. Collective: yes."""
    return bool(transport.all_reduce_host(np.array([int(mine)], np.int32))[0] > 0)


def _may_stop_at_a_batch(callback: Any, loop: _Loop) -> bool:
    if type(callback) in _HARMLESS:
        return False
    stock = keras.callbacks.Callback
    return any(
        name in vars(callback) or getattr(type(callback), name) is not getattr(stock, name) for name in loop.batch_hooks
    )
