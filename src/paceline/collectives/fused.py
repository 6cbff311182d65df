"""One buffer for many tensors: a step needs one reduction, not one for each variable."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tensorflow as tf


def sum_dense(tensors: Sequence[tf.Tensor], all_reduce: Callable[[tf.Tensor], tf.Tensor]) -> list[tf.Tensor]:
    """Returns the sums of `tensors` over replicas, with one call of `all_reduce` for each dtype.

    Called by every replica. Collective: yes.

    Args:
        tensors: Dense tensors of any shapes and numeric dtypes.
        all_reduce: Sums one flat tensor `[n]` over all replicas.
    """
    results: list[tf.Tensor | None] = [None] * len(tensors)
    for dtype in dict.fromkeys(t.dtype for t in tensors):
        places = [i for i, t in enumerate(tensors) if t.dtype == dtype]
        if len(places) == 1:
            results[places[0]] = all_reduce(tensors[places[0]])
            continue
        sizes = [tf.size(tensors[i]) for i in places]
        buffer = tf.concat([tf.reshape(tensors[i], [-1]) for i in places], axis=0)
        pieces = tf.split(all_reduce(buffer), sizes, num=len(places))
        for i, piece in zip(places, pieces, strict=True):
            restored = tf.reshape(piece, tf.shape(tensors[i]))
            restored.set_shape(tensors[i].shape)
            results[i] = restored
    return [r for r in results if r is not None]


def sum_slices(slices: tf.IndexedSlices, gather_rows: Callable[[tf.Tensor], tf.Tensor]) -> tf.IndexedSlices:
    """Returns the sum of sparse gradients over replicas, as slices: the rows of all replicas one after the other.

    Never dense: what travels is the rows that were looked up, not the table.
    Called by every replica. Collective: yes.

    Args:
        slices: `values [n, ...]`, `indices [n]`; `n` may differ between replicas.
        gather_rows: Puts the rows of all replicas together, in replica order.
    """
    return tf.IndexedSlices(
        values=gather_rows(slices.values),
        indices=gather_rows(slices.indices),
        dense_shape=slices.dense_shape,
    )
