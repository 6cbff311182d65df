"""Callbacks that write: the chief's write, the other workers' do everything but write.

Stock Keras 3 has no notion of a chief: every worker truncates the same CSV file, adds
to the same TensorBoard run and deletes the same backup.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
from typing import Any

import keras
from keras.src.callbacks.callback_list import CallbackList


def install(rank: int) -> None:
    """Silences the writers on workers other than the chief. Once per worker, before the script."""
    if rank == 0:
        return
    _only_one_progress_bar()
    keras.callbacks.CSVLogger.on_train_begin = _to_nowhere(keras.callbacks.CSVLogger.on_train_begin)
    keras.callbacks.TensorBoard.set_model = _to_scratch(keras.callbacks.TensorBoard.set_model)
    keras.callbacks.RemoteMonitor.on_epoch_end = _nothing
    keras.callbacks.BackupAndRestore._save_model = _nothing
    keras.callbacks.BackupAndRestore.on_train_end = _nothing


def _nothing(self: Any, *args: Any, **kwargs: Any) -> None:
    del self, args, kwargs


def _only_one_progress_bar() -> None:
    original = CallbackList.__init__

    @functools.wraps(original)
    def init(
        self: Any, callbacks: Any = None, add_history: Any = False, add_progbar: Any = False, **kwargs: Any
    ) -> None:
        del add_progbar
        original(self, callbacks, add_history=add_history, add_progbar=False, **kwargs)

    CallbackList.__init__ = init


def _to_nowhere(original: Any) -> Any:
    @functools.wraps(original)
    def on_train_begin(self: Any, logs: Any = None) -> None:
        self.filename = os.devnull
        original(self, logs)

    return on_train_begin


def _to_scratch(original: Any) -> Any:
    @functools.wraps(original)
    def set_model(self: Any, model: Any) -> None:
        self.log_dir = tempfile.mkdtemp(prefix="paceline-tensorboard-")
        atexit.register(shutil.rmtree, self.log_dir, ignore_errors=True)
        self.profile_batch = 0
        original(self, model)

    return set_model
