"""Puts `ChiefWrites` under what scripts and callbacks write with."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf
from keras.src.saving import saving_api
from keras.src.utils import file_utils

from paceline.checkpoint.chief import ChiefWrites


def install(writes: ChiefWrites) -> None:
    """Makes saves chief-safe and downloads safe on a host. Once per worker, before the script."""
    _lock_downloads()
    if writes.size == 1:
        return
    for owner, name in ((keras.Model, "save"), (keras.Model, "save_weights"), (keras.Model, "export")):
        setattr(owner, name, _method(getattr(owner, name), writes))
    _replace_everywhere(saving_api.save_model, _save_model(saving_api.save_model, writes))
    tf.saved_model.save = _saved_model(tf.saved_model.save, writes)
    tf.train.Checkpoint.write = _method(tf.train.Checkpoint.write, writes, returns_path=True)
    tf.train.Checkpoint.save = _checkpoint_save(tf.train.Checkpoint.save, writes)
    tf.train.CheckpointManager.save = _manager_save(tf.train.CheckpointManager.save, writes)
    tf.data.Dataset.save = _dataset_save(tf.data.Dataset.save, writes)
    tf.data.experimental.TFRecordWriter.write = _records_write(tf.data.experimental.TFRecordWriter.write, writes)


def _method(original: Any, writes: ChiefWrites, *, returns_path: bool = False) -> Any:
    @functools.wraps(original)
    def method(self: Any, filepath: Any, *args: Any, **kwargs: Any) -> Any:
        outcome = writes.write(filepath, lambda: original(self, filepath, *args, **kwargs))
        if outcome.done_here or not returns_path:
            return outcome.result
        return os.fspath(filepath)

    return method


def _save_model(original: Any, writes: ChiefWrites) -> Any:
    @functools.wraps(original)
    def save_model(model: Any, filepath: Any, *args: Any, **kwargs: Any) -> Any:
        return writes.write(filepath, lambda: original(model, filepath, *args, **kwargs)).result

    return save_model


def _saved_model(original: Any, writes: ChiefWrites) -> Any:
    @functools.wraps(original)
    def save(obj: Any, export_dir: Any, *args: Any, **kwargs: Any) -> Any:
        return writes.write(export_dir, lambda: original(obj, export_dir, *args, **kwargs)).result

    return save


def _checkpoint_save(original: Any, writes: ChiefWrites) -> Any:
    """`tf.train.Checkpoint.save` numbers its files with a variable: it must move on every worker."""

    @functools.wraps(original)
    def save(self: Any, file_prefix: Any, *args: Any, **kwargs: Any) -> Any:
        outcome = writes.write(file_prefix, lambda: original(self, file_prefix, *args, **kwargs))
        if not outcome.done_here:
            _follow_counter(self, outcome.result)
        return outcome.result

    return save


def _manager_save(original: Any, writes: ChiefWrites) -> Any:
    """`CheckpointManager.save` keeps a list of what there is: every worker's must be the chief's."""

    @functools.wraps(original)
    def save(self: Any, checkpoint_number: Any = None, *args: Any, **kwargs: Any) -> Any:
        # A manager writes nothing in between its intervals, and says None.
        outcome = writes.write(self._prefix, lambda: original(self, checkpoint_number, *args, **kwargs))
        path = outcome.result
        if outcome.done_here or path is None:
            return path
        if checkpoint_number is None:
            _follow_counter(self._checkpoint, path)
        self._maybe_delete.pop(path, None)
        self._maybe_delete[path] = time.time()
        while self._max_to_keep and len(self._maybe_delete) > self._max_to_keep:
            del self._maybe_delete[next(iter(self._maybe_delete))]
        self._latest_checkpoint = path
        if getattr(self, "_step_counter", None) is not None:
            self._last_checkpoint_step = int(self._step_counter)
        return path

    return save


def _dataset_save(original: Any, writes: ChiefWrites) -> Any:
    @functools.wraps(original)
    def save(self: Any, path: Any, *args: Any, **kwargs: Any) -> Any:
        if not tf.executing_eagerly():  # an operation, which runs when its function does
            return original(self, path, *args, **kwargs)
        outcome = writes.write(_text(path), lambda: original(self, path, *args, **kwargs))
        return outcome.result if outcome.done_here else _read(self)

    return save


def _records_write(original: Any, writes: ChiefWrites) -> Any:
    @functools.wraps(original)
    def write(self: Any, dataset: Any) -> Any:
        if not (tf.executing_eagerly() and isinstance(dataset, tf.data.Dataset)):
            return original(self, dataset)
        outcome = writes.write(_text(self._filename), lambda: original(self, dataset))
        return outcome.result if outcome.done_here else _read(dataset)

    return write


def _read(dataset: Any) -> None:
    """Reads a dataset that the chief has read, in order to write it: else its shuffles would go on differently."""
    for _ in dataset:
        pass


def _text(path: Any) -> str:
    return os.fsdecode(path.numpy() if tf.is_tensor(path) else path)


def _follow_counter(checkpoint: Any, path: Any) -> None:
    """Sets a checkpoint's number to the one that the chief has written."""
    checkpoint._maybe_create_save_counter()
    number = os.fspath(path).rpartition("-")[2] if path is not None else ""
    if number.isdecimal():
        checkpoint.save_counter.assign(int(number))


def _lock_downloads() -> None:
    """Makes one process of a host download a file while the others wait and then find it."""
    original = file_utils.get_file

    @functools.wraps(original)
    def get_file(fname: Any = None, origin: Any = None, *args: Any, **kwargs: Any) -> Any:
        name = hashlib.sha256(f"{fname}|{origin}|{kwargs.get('cache_dir')}".encode()).hexdigest()[:16]
        lock = Path(tempfile.gettempdir()) / f"paceline-{os.getuid()}-{name}.lock"
        with lock.open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            return original(fname, origin, *args, **kwargs)

    _replace_everywhere(original, get_file)
    file_utils.makedirs = _makedirs


def _replace_everywhere(original: Any, ours: Any) -> None:
    """Replaces a function of Keras in all of its modules: `keras.datasets` and `tf.keras` hold names of their own."""
    for module_name, module in list(sys.modules.items()):
        if module_name.partition(".")[0] == "keras" and module is not None:
            for name, value in list(vars(module).items()):
                if value is original:
                    setattr(module, name, ours)


def _makedirs(path: Any) -> None:
    """Makes a folder, unless another worker has just made it: Keras looks first, and two may look at once."""
    if file_utils.is_remote_path(path):
        tf.io.gfile.makedirs(path)
    else:
        os.makedirs(path, exist_ok=True)
