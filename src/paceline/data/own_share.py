"""Datasets that a script shared out itself: a worker has its own, each of its replicas takes the next batch of it.

Workers' datasets may end at different times.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def is_own_share(dataset: Any) -> bool:
    """Returns whether `dataset` came from `distribute_datasets_from_function`."""
    return bool(getattr(dataset, "paceline_own_share", False))


def dataset_behind(dataset: Any) -> Any:
    """Returns the script's own dataset behind one that the strategy returned for it."""
    return getattr(dataset, "paceline_behind", dataset)


def stand_in(spec: Any) -> Any:
    """Returns a batch of one row of zeros (or empty strings) of the given element spec.

    A replica whose data have ended goes on with it, uncounted, until the others' have ended too.
    """
    return tf.nest.map_structure(_zeros, spec)


def _zeros(spec: Any) -> Any:
    if isinstance(spec, tf.RaggedTensorSpec):
        shape = [1 if d is None else d for d in spec._shape.as_list()]
        dense = tf.fill(shape, tf.constant("" if spec._dtype == tf.string else 0, dtype=spec._dtype))
        return tf.RaggedTensor.from_tensor(
            dense, ragged_rank=spec._ragged_rank, row_splits_dtype=spec._row_splits_dtype
        )
    if isinstance(spec, tf.SparseTensorSpec):
        shape = [1 if d is None else d for d in spec.shape.as_list()]
        return tf.SparseTensor(tf.zeros([0, len(shape)], tf.int64), tf.zeros([0], spec.dtype), shape)
    if not isinstance(spec, tf.TensorSpec):
        return None
    shape = [1 if d is None else d for d in spec.shape.as_list()]
    if shape and shape[0] != 1 and spec.shape[0] is None:
        shape[0] = 1
    return tf.fill(shape, tf.constant("" if spec.dtype == tf.string else 0, dtype=spec.dtype))
