"""How far training is, counted on the device and read when somebody wants to know."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


class _Counters:
    """Two variables of this process: rows trained by the whole job, and steps in which workers read different data."""

    def __init__(self) -> None:
        with tf.init_scope(), tf.device("/cpu:0"):
            self.rows = tf.Variable(0, dtype=tf.int64, trainable=False, name="paceline_rows")
            self.different = tf.Variable(0, dtype=tf.int64, trainable=False, name="paceline_different")


_counters: list[_Counters] = []


def _get() -> _Counters:
    if not _counters:
        _counters.append(_Counters())
    return _counters[0]


def note_rows(total: Any) -> None:
    """Counts the rows of one training step. Called once per process and step. Collective: no."""
    _get().rows.assign_add(tf.cast(total, tf.int64), read_value=False)


def note_step(fingerprints: Any, summed: Any) -> None:
    """Counts a step whose fingerprints, summed over replicas, are not this worker's own times their number."""
    differs = tf.cast(tf.not_equal(fingerprints, summed), tf.int64)
    _get().different.assign_add(differs, read_value=False)


def rows_trained() -> int:
    """Returns the rows that the whole job has trained on so far. Waits for the last step. Collective: no."""
    return int(_get().rows.numpy()) if _counters else 0


def steps_with_different_data() -> int:
    """Returns in how many steps the workers read different global batches. Waits for the last step. Collective: no."""
    return int(_get().different.numpy()) if _counters else 0
