"""How far training is, counted on the device and read when somebody wants to know; and when a group of steps pauses."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.python.framework import config

from paceline.data.fingerprint import fingerprint
from paceline.data.share import leaves, total_rows, without_optionals


class _Counters:
    """Variables of this process.

    Attributes:
        rows: Trained by the whole job.
        batch: Rows of the batch that the last step was given.
        different: Steps in which workers read different data.
        deadline: When the running group of steps is to pause, in seconds since 1970.
        mark: Fingerprint of the batch that the last training step was given.
        pauses: Whether the group pauses: some worker's deadline had passed in the last step.
    """

    def __init__(self) -> None:
        with tf.init_scope(), tf.device("/cpu:0"):
            self.rows = tf.Variable(0, dtype=tf.int64, trainable=False, name="paceline_rows")
            self.batch = tf.Variable(0, dtype=tf.int32, trainable=False, name="paceline_batch")
            self.mark = tf.Variable(-1, dtype=tf.int32, trainable=False, name="paceline_mark")
            self.different = tf.Variable(0, dtype=tf.int64, trainable=False, name="paceline_different")
            self.deadline = tf.Variable(float("inf"), dtype=tf.float64, trainable=False, name="paceline_deadline")
            self.pauses = tf.Variable(False, trainable=False, name="paceline_pauses")


_counters: list[_Counters] = []
_traced: list[int] = []  # rows of the batch that the last trace knew, or the last step that is Python


def _get() -> _Counters:
    if not _counters:
        _counters.append(_Counters())
    return _counters[0]


def note_rows(total: Any) -> None:
    """Counts the rows of one training step. Called once per process and step. Collective: no."""
    _get().rows.assign_add(tf.cast(total, tf.int64), read_value=False)


def set_rows(rows: int) -> None:
    """Sets how many rows were trained on: a run goes on. Collective: no."""
    _get().rows.assign(rows)


_marks: list[bool] = []


def mark_batches() -> None:
    """Has each training step note a fingerprint of its global batch. Once, before the script."""
    _marks[:] = [True]


def marks_batches() -> bool:
    """Returns whether a run may go on from checkpoints. Collective: no."""
    return bool(_marks)


def note_batch(batch: Any) -> None:
    """Notes a fingerprint of a training step's global batch, where that is wanted. Collective: no."""
    if _marks:
        dense = without_optionals(batch)
        with tf.device("/cpu:0"):
            _get().mark.assign(tf.cast(fingerprint(leaves(dense), total_rows(dense)), tf.int32), read_value=False)


def mark_of_batch() -> int | None:
    """Returns the fingerprint of the last training step's batch, None where none was noted. Collective: no."""
    mark = int(_get().mark.numpy()) if _counters else -1
    return None if mark < 0 else mark


def noted_rows_of_batch(total: Any) -> Any:
    """Returns `total`, the rows of a step's batch, which are noted before anything looks at them. Collective: no."""
    known = tf.get_static_value(total)
    if known is not None:
        _traced[:] = [int(known)]
    if tf.executing_eagerly():
        return total
    noted = _get().batch.assign(total, read_value=False)
    if known is not None or noted is None:
        return total
    with tf.control_dependencies([noted]):
        return tf.identity(total)


def rows_of_batch() -> list[int]:
    """Returns the rows of the batch that the last step, or trace of one, was given: one number or two. After an error.

    Collective: no.
    """
    return [*_traced, *(int(counters.batch.numpy()) for counters in _counters)]


def begin_group(deadline: Any) -> None:
    """Notes when the group that begins is to pause, float64 scalar in seconds since 1970. Collective: no."""
    _get().deadline.assign(deadline)
    _get().pauses.assign(False)


def is_late() -> tf.Tensor:
    """Returns 1 if this worker's group has passed its deadline, else 0: a float32 scalar that travels with the step.

    Never where a script has asked for deterministic operations: TensorFlow refuses to read a clock there.
    """
    if config.is_op_determinism_enabled():
        return tf.constant(0.0)
    return tf.cast(tf.timestamp() > _get().deadline, tf.float32)


def pauses(strategy: Any) -> tf.Tensor:
    """Returns whether the running group ends with the step that has run. The same on every worker. Collective: no."""
    if getattr(strategy, "transport", None) is None or strategy.num_replicas_in_sync == 1:
        return is_late() > 0
    return tf.identity(_get().pauses)


def note_step(fingerprints: Any, summed: Any) -> None:
    """Looks at what was summed over replicas in a step.

    Args:
        fingerprints: This worker's fingerprint of its global batch, times the number of replicas.
        summed: Sums over replicas of fingerprints, and of `is_late`: float32, shape [2].
    """
    differs = tf.cast(tf.not_equal(fingerprints, summed[0]), tf.int64)
    _get().different.assign_add(differs, read_value=False)
    _get().pauses.assign(summed[1] > 0)


def rows_trained() -> int:
    """Returns the rows that the whole job has trained on so far. Waits for the last step. Collective: no."""
    return int(_get().rows.numpy()) if _counters else 0


def steps_with_different_data() -> int:
    """Returns in how many steps the workers read different global batches. Waits for the last step. Collective: no."""
    return int(_get().different.numpy()) if _counters else 0
