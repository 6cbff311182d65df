"""Puts `ChiefWrites` under what scripts and callbacks write with."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import os
import tempfile
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
    for module in (saving_api, keras.saving, keras.models):
        if hasattr(module, "save_model"):
            module.save_model = _save_model(module.save_model, writes)
    tf.saved_model.save = _saved_model(tf.saved_model.save, writes)
    tf.train.Checkpoint.write = _method(tf.train.Checkpoint.write, writes, returns_path=True)
    tf.train.Checkpoint.save = _checkpoint_save(tf.train.Checkpoint.save, writes)
    tf.train.CheckpointManager.save = _manager_save(tf.train.CheckpointManager.save, writes)


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
        if outcome.done_here:
            return outcome.result
        self._maybe_create_save_counter()
        number = int(self.save_counter.assign_add(1).numpy())
        return f"{os.fspath(file_prefix)}-{number}"

    return save


def _manager_save(original: Any, writes: ChiefWrites) -> Any:
    @functools.wraps(original)
    def save(self: Any, checkpoint_number: Any = None, *args: Any, **kwargs: Any) -> Any:
        prefix = self._prefix
        outcome = writes.write(prefix, lambda: original(self, checkpoint_number, *args, **kwargs))
        if outcome.done_here:
            return outcome.result
        checkpoint = self._checkpoint
        checkpoint._maybe_create_save_counter()
        number = int(checkpoint.save_counter.assign_add(1).numpy())
        number = number if checkpoint_number is None else int(checkpoint_number)
        self._latest_checkpoint = f"{prefix}-{number}"
        return self._latest_checkpoint

    return save


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

    file_utils.get_file = get_file
    keras.utils.get_file = get_file
