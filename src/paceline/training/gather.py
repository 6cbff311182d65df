"""Puts the outputs of all replicas together, in the order of the global batch's rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

GatherRows = Callable[[tf.Tensor], tf.Tensor]


def gather_outputs(outputs: Any, gather_rows: GatherRows) -> Any:
    """Returns the structure of outputs with the rows of all workers. Collective: yes.

    Args:
        outputs: Dense `[b, ...]`, ragged or sparse tensors of this worker's `b` rows; `b` may be 0.
        gather_rows: Puts the rows of one dense tensor together, in rank order.
    """
    return tf.nest.map_structure(lambda value: _gather(value, gather_rows), outputs)


def _gather(value: Any, gather_rows: GatherRows) -> Any:
    if isinstance(value, tf.RaggedTensor):
        lengths = gather_rows(value.row_lengths())
        return tf.RaggedTensor.from_row_lengths(_gather(value.values, gather_rows), lengths, validate=False)
    if isinstance(value, tf.SparseTensor):
        return _gather_sparse(value, gather_rows)
    return gather_rows(tf.convert_to_tensor(value))


def _gather_sparse(value: tf.SparseTensor, gather_rows: GatherRows) -> tf.SparseTensor:
    # one row a worker: rows of the whole, so that each worker's indices can be moved behind the others'
    shapes = gather_rows(value.dense_shape[tf.newaxis, :])
    counts = gather_rows(tf.shape(value.indices, out_type=tf.int64)[:1])
    starts = tf.cumsum(shapes[:, 0], exclusive=True)
    indices = gather_rows(value.indices)
    moved = tf.concat([indices[:, :1] + tf.repeat(starts, counts)[:, tf.newaxis], indices[:, 1:]], axis=1)
    shape = tf.concat([[tf.reduce_sum(shapes[:, 0])], tf.reduce_max(shapes[:, 1:], axis=0)], axis=0)
    return tf.SparseTensor(moved, gather_rows(value.values), shape)
