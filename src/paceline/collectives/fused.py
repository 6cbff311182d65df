"""A few flat buffers for many tensors: a step needs one reduction, not one for each variable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf


class Piece(NamedTuple):
    """Where one tensor lies in the buffers.

    Attributes:
        buffer: Which buffer.
        dtype: What it was before it was packed.
        shape: Its shape: numbers where they are known, else an int32 tensor.
        size: Its number of elements, as `shape`.
    """

    buffer: int
    dtype: tf.DType
    shape: Any
    size: Any


def pack(
    tensors: Sequence[tf.Tensor], wires: Sequence[tf.DType] | None = None, bucket_bytes: int = 0
) -> tuple[list[tf.Tensor], list[Piece]]:
    """Returns flat buffers `[n]` that hold all of `tensors`, one for each dtype, and where each lies.

    Args:
        tensors: Dense tensors of any shapes and numeric dtypes.
        wires: What each travels as; its own dtype by default.
        bucket_bytes: Size at which a buffer is closed and another begun, from the last tensor to the first, as
            gradients become ready; 0: none is closed.

    The pieces hold no tensors, and may leave the function that packs, where all shapes are known.
    """
    places: dict[tf.DType, int] = {}
    members: list[list[int]] = []
    filled: list[int] = []
    which: list[int] = [0] * len(tensors)
    wires = [t.dtype for t in tensors] if wires is None else wires
    order = range(len(tensors)) if not bucket_bytes else range(len(tensors) - 1, -1, -1)
    for i in order:
        wire = wires[i]
        if wire not in places or (bucket_bytes and filled[places[wire]] >= bucket_bytes):
            places[wire] = len(members)
            members.append([])
            filled.append(0)
        place = which[i] = places[wire]
        members[place].append(i)
        filled[place] += (tensors[i].shape.num_elements() or 0) * wire.size
    buffers = []
    for group in members:
        flat = [tf.cast(tf.reshape(tensors[i], [-1]), wires[i]) for i in sorted(group)]
        buffers.append(flat[0] if len(flat) == 1 else tf.concat(flat, axis=0))
    return buffers, [_piece(tensor, which[i]) for i, tensor in enumerate(tensors)]


def _piece(tensor: tf.Tensor, buffer: int) -> Piece:
    if tensor.shape.is_fully_defined():
        return Piece(buffer, tensor.dtype, tensor.shape.as_list(), tensor.shape.num_elements())
    return Piece(buffer, tensor.dtype, tf.shape(tensor), tf.size(tensor))


def unpack(buffers: Sequence[tf.Tensor], pieces: Sequence[Piece]) -> list[tf.Tensor]:
    """Returns the tensors that `pack` has put into buffers, in their order, shapes and dtypes."""
    results: list[tf.Tensor | None] = [None] * len(pieces)
    for number, buffer in enumerate(buffers):
        group = [i for i, piece in enumerate(pieces) if piece.buffer == number]
        flat = [buffer] if len(group) == 1 else tf.split(buffer, [pieces[i].size for i in group], num=len(group))
        for i, part in zip(group, flat, strict=True):
            results[i] = tf.cast(tf.reshape(part, pieces[i].shape), pieces[i].dtype)
    return [r for r in results if r is not None]


def sum_dense(
    tensors: Sequence[tf.Tensor],
    all_reduce: Callable[[tf.Tensor], tf.Tensor],
    wires: Sequence[tf.DType] | None = None,
    bucket_bytes: int = 0,
) -> list[tf.Tensor]:
    """Returns the sums of `tensors` over replicas, with one call of `all_reduce` for each buffer of `pack`.

    Called by every replica. Collective: yes.

    Args:
        tensors: Dense tensors of any shapes and numeric dtypes.
        all_reduce: Sums one flat tensor `[n]` over all replicas.
        wires: See `pack`.
        bucket_bytes: See `pack`.
    """
    buffers, pieces = pack(tensors, wires, bucket_bytes)
    sums = unpack([all_reduce(buffer) for buffer in buffers], pieces)
    for total, tensor in zip(sums, tensors, strict=True):
        total.set_shape(tensor.shape)
    return sums


def sum_slices(
    slices: tf.IndexedSlices, gather_rows: Callable[[tf.Tensor], tf.Tensor], num_alike: int = 0
) -> tf.IndexedSlices:
    """Returns the sum of sparse gradients over replicas, as slices: the rows of all replicas one after the other.

    Never dense: what travels is the rows that were looked up, not the table.
    Called by every replica. Collective: yes.

    Args:
        slices: `values [n, ...]`, `indices [n]`; `n` may differ between replicas.
        gather_rows: Puts the rows of all replicas together, in replica order.
        num_alike: The number of replicas, where each is to have looked up the same rows (positions, not what the data
            say). One device has one slice for each of them, and optimizers tell it from several of one row: if the
            indices are the same indeed, values are added. 0: each replica has rows of its own.
    """
    values, indices = gather_rows(slices.values), gather_rows(slices.indices)
    if num_alike > 1:
        values, indices = _added_where_alike(values, indices, num_alike)
    return tf.IndexedSlices(values=values, indices=indices, dense_shape=slices.dense_shape)


def _added_where_alike(values: tf.Tensor, indices: tf.Tensor, count: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Adds the values of `count` equal parts if these have the same indices. The same on every replica."""
    size, row = tf.shape(indices)[0], tf.shape(values)[1:]

    def parts() -> tf.Tensor:
        return tf.reshape(indices, [count, -1])

    def are_alike() -> tf.Tensor:
        return tf.reduce_all(tf.equal(parts(), parts()[:1]))

    def added() -> tuple[tf.Tensor, tf.Tensor]:
        by_part = tf.reshape(values, tf.concat([[count, -1], row], axis=0))
        return tf.reshape(tf.reduce_sum(by_part, axis=0), tf.concat([[-1], row], axis=0)), parts()[0]

    alike = tf.cond(tf.equal(size % count, 0), are_alike, lambda: tf.constant(False))
    summed, once = tf.cond(alike, added, lambda: (values, indices))
    summed.set_shape([None, *values.shape[1:]])
    return summed, once
