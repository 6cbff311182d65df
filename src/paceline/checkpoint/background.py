"""Writes checkpoints while training goes on: it waits for the copy only, which the caller has made."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from paceline.checkpoint.store import CheckpointStore, Written
from paceline.errors import PacelineError

_NICENESS = 19


class BackgroundWriter:
    """One thread that writes one checkpoint at a time.

    What cannot be written is told, once for each kind of failure until one is written again, and training goes on.

    Args:
        store: Where to.
    """

    def __init__(self, store: CheckpointStore) -> None:
        self._store = store
        self._changed = threading.Condition()
        self._work: Callable[[], None] | None = None
        self._told: set[object] = set()
        self._failing = False
        self._newest: int | None = None
        self._thread: threading.Thread | None = None
        self._buffers: dict[str, np.ndarray] = {}

    @property
    def newest(self) -> int | None:
        """The job step of the newest checkpoint that this writer completed."""
        return self._newest

    @property
    def is_failing(self) -> bool:
        """Whether the last one could not be written."""
        return self._failing

    def copy(self, tensors: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Returns copies to submit, in memory that is kept for the next time; waits until the last one is written.

        Memory that is new costs four times the copy: the system has to clear each page of it. Source:
        benchmarks/background_writing.py.

        Args:
            tensors: Arrays that training goes on to change.
        """
        self.flush()
        copies = {}
        for name, array in tensors.items():
            buffer = self._buffers.get(name)
            if buffer is None or buffer.shape != array.shape or buffer.dtype != array.dtype:
                buffer = np.empty(array.shape, array.dtype)
            np.copyto(buffer, array)
            copies[name] = buffer
        self._buffers = copies
        return dict(copies)

    def submit(
        self,
        step: int,
        tensors: dict[str, np.ndarray],
        meta: Mapping[str, Any],
        then: Callable[[Written], None] | None = None,
        shard: tuple[int, int] = (0, 1),
        barrier: Callable[[], None] | None = None,
    ) -> None:
        """Returns at once, or when the checkpoint before this one is done.

        Args:
            step: The job step.
            tensors: Arrays that nobody changes any more.
            meta: What JSON holds.
            then: Called in the thread when the checkpoint is complete.
            shard: As of `CheckpointStore.write`.
            barrier: As of `CheckpointStore.write`; called in the thread.
        """
        work = partial(self._write, step, tensors, meta, then, shard, barrier)
        with self._changed:
            self._changed.wait_for(lambda: self._work is None)
            self._work = work
            self._changed.notify_all()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="paceline-checkpoints", daemon=True)
            self._thread.start()

    def flush(self, timeout_s: float | None = None) -> bool:
        """Waits until nothing is being written; returns whether that was so in time."""
        with self._changed:
            return self._changed.wait_for(lambda: self._work is None, timeout_s)

    def _run(self) -> None:
        _be_nice()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._work is not None)
                work = self._work
            assert work is not None  # noqa: S101 - for mypy
            work()
            del work  # and with it the tensors
            with self._changed:
                self._work = None
                self._changed.notify_all()

    def _write(
        self,
        step: int,
        tensors: dict[str, np.ndarray],
        meta: Mapping[str, Any],
        then: Callable[[Written], None] | None,
        shard: tuple[int, int],
        barrier: Callable[[], None] | None,
    ) -> None:
        try:
            written = self._store.write(step, tensors, meta, shard, barrier)
        except Exception as error:  # noqa: BLE001 - a thread has nobody else to tell
            self._failing = True
            self._tell(step, error)
            return
        self._newest = step
        if self._failing:
            self._failing = False
            self._told.clear()
            self._store.tell(f"checkpoints can be written again: {written.path}")
        if then is not None:
            try:
                then(written)
            except Exception as error:  # noqa: BLE001 - the same; the checkpoint is there
                self._store.tell(f"what follows a checkpoint failed: {type(error).__name__}: {error}")

    def _tell(self, step: int, error: Exception) -> None:
        cause = error.__cause__
        kind = (type(error), type(cause), getattr(cause, "errno", None))
        if kind in self._told:
            return
        self._told.add(kind)
        text = error.render() if isinstance(error, PacelineError) else f"{type(error).__name__}: {error}"
        self._store.tell(f"no checkpoint of step {step}; training goes on. {text}")


def _be_nice() -> None:
    """Lets training have the cores first. Source: setpriority(2): in Linux a thread has its own nice value."""
    try:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
    except OSError:  # a sandbox forbids it; only the share of the cores differs
        pass
