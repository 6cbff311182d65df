"""Callbacks decide alike: if one worker's callback stops training, all stop at the same point.

Logs are the same on every worker, so EarlyStopping and its like agree by themselves.
A callback that looks at a clock, at the disk or at its own random numbers does not.
"""

from __future__ import annotations

import functools
from typing import Any

import keras
import numpy as np
from keras.src.callbacks.callback_list import CallbackList

from paceline.collectives.transport import Transport

#: Callbacks of Keras whose batch hooks never stop training.
_HARMLESS = (
    keras.callbacks.History,
    keras.callbacks.ProgbarLogger,
    keras.callbacks.ModelCheckpoint,
    keras.callbacks.TensorBoard,
    keras.callbacks.BackupAndRestore,
    keras.callbacks.CSVLogger,
)


def install(transport: Transport) -> None:
    """Agrees on `stop_training` after the hooks that may set it. Once per worker; one small sum for each."""
    if transport.size == 1:
        return
    CallbackList.on_epoch_end = _agreeing(CallbackList.on_epoch_end, transport, every_time=True)
    CallbackList.on_train_batch_end = _agreeing(CallbackList.on_train_batch_end, transport, every_time=False)
    CallbackList.on_epoch_begin = _agreeing(CallbackList.on_epoch_begin, transport, every_time=True)


def _agreeing(original: Any, transport: Transport, *, every_time: bool) -> Any:
    @functools.wraps(original)
    def hook(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        if every_time or _may_stop_at_a_batch(self):
            wants = np.array([1 if self.model.stop_training else 0], np.int32)
            if transport.all_reduce_host(wants)[0] > 0:
                self.model.stop_training = True
        return result

    return hook


def _may_stop_at_a_batch(callback_list: Any) -> bool:
    known = getattr(callback_list, "_paceline_batch_hooks", None)
    if known is None:
        known = any(_has_batch_hook(callback) for callback in callback_list.callbacks)
        callback_list._paceline_batch_hooks = known
    return bool(known)


def _has_batch_hook(callback: Any) -> bool:
    if type(callback) in _HARMLESS:
        return False
    if isinstance(callback, keras.callbacks.LambdaCallback):
        hooks = ("on_train_batch_begin", "on_train_batch_end")
        return any(name in vars(callback) for name in hooks)
    names = ("on_batch_begin", "on_batch_end", "on_train_batch_begin", "on_train_batch_end")
    return any(getattr(type(callback), name) is not getattr(keras.callbacks.Callback, name) for name in names)
