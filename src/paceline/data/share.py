"""A replica's share of a global batch: a slice of rows, the same rule for every kind of tensor.

Everybody reads the same global batches and takes a slice, so order, number of steps
and mathematics do not depend on the number of replicas (decision 5).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from paceline.data.fingerprint import fingerprint
from paceline.data.rows import check_same_rows


class Share(NamedTuple):
    """One replica's part of a global batch.

    Attributes:
        data: The batch's structure with this replica's rows. A replica without rows gets the batch's
            first row instead, so that no operation sees an empty batch; `rows` is 0 then.
        rows: int32 scalar, how many rows count.
        total: int32 scalar, rows of the global batch.
        fingerprint: float32 scalar that is the same where the global batch is (`fingerprint.py`); 0: none was taken.
    """

    data: Any
    rows: tf.Tensor
    total: tf.Tensor
    fingerprint: Any = 0.0


def bounds(total: Any, index: int, count: int) -> tuple[Any, Any]:
    """Returns `(begin, end)` of replica `index` of `count` in `total` rows.

    Shares are contiguous, in order, disjoint and complete, and differ by one row at most.
    Source: block distribution, `floor(i * n / p)` to `floor((i + 1) * n / p)`.

    >>> [bounds(10, i, 4) for i in range(4)]
    [(0, 2), (2, 5), (5, 7), (7, 10)]
    >>> [bounds(1, i, 2) for i in range(2)]
    [(0, 0), (0, 1)]
    """
    rows, rest = total // count, total % count
    # The same as total * index // count, without the product that overflows int32.
    return rows * index + rest * index // count, rows * (index + 1) + rest * (index + 1) // count


def without_optionals(data: Any) -> Any:
    """Returns `data` with `None` where a dataset carries an empty `tf.experimental.Optional`."""
    return tf.nest.map_structure(lambda leaf: None if isinstance(leaf, tf.experimental.Optional) else leaf, data)


def leaves(data: Any) -> list[Any]:
    """Returns the parts of a batch that are not None: dense, ragged and sparse tensors."""
    return [leaf for leaf in tf.nest.flatten(data) if leaf is not None]


def rows_of(leaf: Any) -> Any:
    """Returns the number of rows of one part of a batch (int32 scalar), or None if it has no rows."""
    if isinstance(leaf, tf.RaggedTensor):
        return tf.cast(leaf.nrows(), tf.int32)
    if isinstance(leaf, tf.SparseTensor):
        return tf.cast(leaf.dense_shape[0], tf.int32)
    leaf = tf.convert_to_tensor(leaf)
    return None if leaf.shape.rank == 0 else tf.shape(leaf)[0]


def total_rows(data: Any) -> tf.Tensor:
    """Returns the number of rows of a batch: those of its first part that has rows (int32 scalar).

    Raises:
        ValueError: The batch has no part with rows.
    """
    return rows_of(first_with_rows(data))


def first_with_rows(data: Any) -> Any:
    """Returns the first part of a batch that has rows.

    Raises:
        ValueError: The batch has no part with rows.
    """
    for leaf in leaves(data):
        if rows_of(leaf) is not None:
            return leaf
    raise ValueError("a batch must have at least one part with a first (batch) dimension")


def take_share(data: Any, index: int, count: int, total: Any = None) -> Share:
    """Returns what replica `index` of `count` works on. Collective: no.

    Args:
        data: A batch: a structure of tensors `[B, ...]`, ragged and sparse tensors of `B` rows, None and
            scalars (which every replica gets whole).
        index: The replica, counted over the whole job.
        count: Number of replicas of the whole job.
        total: Rows of the batch, int32 scalar, where they are known already.
    """
    data = without_optionals(data)
    total = total_rows(data) if total is None else total
    begin, end = bounds(total, index, count)
    mark = fingerprint(leaves(data), total)
    # a replica without rows gets one row, which then does not count
    shown_begin = tf.where(end > begin, begin, 0)
    shown_end = tf.where(end > begin, end, tf.minimum(1, total))
    data = tf.nest.map_structure(lambda leaf: slice_rows(leaf, shown_begin, shown_end, total), data)
    return Share(data, end - begin, total, mark)


def whole(data: Any) -> Share:
    """Returns a batch that is one replica's own already, all of it."""
    data = without_optionals(data)
    total = total_rows(data)
    return Share(data, total, total)


def slice_rows(leaf: Any, begin: Any, end: Any, total: Any) -> Any:
    """Returns rows `begin` to `end` of one part of a batch of `total` rows; what has no rows stays whole."""
    rows = None if leaf is None else rows_of(leaf)
    if rows is None:
        return leaf
    with tf.control_dependencies(check_same_rows(rows, total)):
        if isinstance(leaf, tf.SparseTensor):
            size = tf.concat([[tf.cast(end - begin, tf.int64)], leaf.dense_shape[1:]], axis=0)
            start = tf.concat([[tf.cast(begin, tf.int64)], tf.zeros_like(leaf.dense_shape[1:])], axis=0)
            return tf.sparse.slice(leaf, start, size)
        if isinstance(leaf, tf.RaggedTensor):
            return leaf[begin:end]
        return tf.convert_to_tensor(leaf)[begin:end]


def cut_rows(value: Any, rows: Any) -> Any:
    """Returns the first `rows` rows of one output (dense, ragged or sparse)."""
    if isinstance(value, tf.SparseTensor):
        size = tf.concat([[tf.cast(rows, tf.int64)], value.dense_shape[1:]], axis=0)
        return tf.sparse.slice(value, tf.zeros_like(size), size)
    return value[:rows]
