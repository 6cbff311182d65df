"""Runs one function on every replica's share of a batch: in other processes, or on this one's devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import distribute_utils

from paceline.data.own_share import stand_in
from paceline.data.rows import check_same_rows
from paceline.data.share import Share, leaves, rows_of, take_share, total_rows, whole, without_optionals
from paceline.training import own_loop, progress

ReplicaFunction = Callable[..., Any]


def local_replicas(strategy: Any) -> list[int]:
    """Returns the numbers, among all replicas, of those in this process."""
    transport = getattr(strategy, "transport", None)
    if transport is not None:
        return [transport.rank]
    return list(range(strategy.num_replicas_in_sync))


def run_on_shares(strategy: Any, function: ReplicaFunction, batch: Any, *, own_share: bool = False) -> list[Any]:
    """Returns what `function(data, rows, total, fingerprint)` returned on each replica of this process.

    Collective: as `function`.

    Args:
        strategy: The job's strategy.
        function: Called in a replica context with that replica's rows of the batch. One that `takes_batches` is
            called with the whole batch, where that is dense numbers, and takes its rows itself.
        batch: The global batch, or with `own_share` the shares of this process's replicas, in order.
        own_share: Whether the script itself shared the data out.
    """
    if getattr(function, "takes_batches", False) and not own_share and _is_dense(batch):
        own_loop.leave_as_it_is(function)
        _check_rows(batch)
        return [strategy.run(function, args=(without_optionals(batch),))]
    if own_share:
        shares = [Share(tf.nest.map_structure(_of_any_rows, share[0]), *share[1:]) for share in batch]
    elif strategy.num_replicas_in_sync == 1:
        shares = [whole(batch)]
    else:
        with tf.device("/cpu:0"):
            total = progress.noted_rows_of_batch(total_rows(without_optionals(batch)))
            count = strategy.num_replicas_in_sync
            shares = [take_share(batch, replica, count, total) for replica in local_replicas(strategy)]
    own_loop.leave_as_it_is(function)
    if len(shares) == 1:
        result = strategy.run(function, args=tuple(shares[0]))
        return [result]
    # Structures hold None, which regroup does not take: the flat parts travel.
    flat = [[leaf for leaf in tf.nest.flatten(share) if leaf is not None] for share in shares]
    grouped = distribute_utils.regroup(tuple(tuple(parts) for parts in flat), always_wrap=True)
    structure = shares[0]

    def on_replica(*parts: Any) -> Any:
        following = iter(parts)
        leaves = [None if leaf is None else next(following) for leaf in tf.nest.flatten(structure)]
        return function(*tf.nest.pack_sequence_as(structure, leaves))

    own_loop.leave_as_it_is(on_replica)
    outputs = strategy.run(on_replica, args=tuple(grouped))
    return [_local(strategy, outputs, place) for place in range(len(shares))]


def own_rows(batch: Any) -> Share:
    """Returns the running replica's share of a global batch. Called in a replica context. Collective: no."""
    context = tf.distribute.get_replica_context()
    return take_share(batch, context.replica_id_in_sync_group, context.num_replicas_in_sync)


def _of_any_rows(leaf: Any) -> Any:
    """Returns a part of a batch whose number of rows a graph does not know.

    A step that divides by it must divide by a tensor: `paceline.training.growth` tells that from a script's own number.
    """
    if isinstance(leaf, tf.Tensor) and leaf.shape.rank and leaf.shape[0] is not None and not tf.executing_eagerly():
        return tf.raw_ops.PlaceholderWithDefault(input=leaf, shape=[None, *leaf.shape[1:]])
    return leaf


def _is_dense(batch: Any) -> bool:
    parts = leaves(without_optionals(batch))
    return all(tf.is_tensor(part) and isinstance(part, tf.Tensor) and part.dtype != tf.string for part in parts)


def _check_rows(batch: Any) -> None:
    """Looks, where XLA would not, whether all parts have the same number of rows."""
    total = progress.noted_rows_of_batch(total_rows(without_optionals(batch)))
    for part in leaves(without_optionals(batch)):
        rows = rows_of(part)
        if rows is not None:
            check_same_rows(rows, total)


def _local(strategy: Any, outputs: Any, place: int) -> Any:
    def local(value: Any) -> Any:
        return None if value is None else strategy.experimental_local_results(value)[place]

    return tf.nest.map_structure(local, outputs)


def next_own_share(strategy: Any, iterator: Any) -> tuple[list[tuple[Any, tf.Tensor, tf.Tensor]], tf.Tensor]:
    """Returns `(data, rows, rows of all replicas)` of each replica here, and whether any has data. Collective: yes.

    Each replica takes the next batch of its worker's dataset. One that gets none goes on with a stand-in that does not
    count.
    """
    batches, counts, there = [], [], []
    for _ in local_replicas(strategy):
        optional = iterator.get_next_as_optional()
        has = optional.has_value()
        data = tf.cond(has, optional.get_value, lambda: stand_in(iterator.element_spec))
        batches.append(without_optionals(data))
        counts.append(tf.where(has, total_rows(batches[-1]), 0))
        there.append(tf.cast(has, tf.int32))
    sums = tf.stack([tf.add_n(there), tf.add_n(counts)])
    if hasattr(strategy, "transport"):
        sums = strategy.reduce(tf.distribute.ReduceOp.SUM, sums, axis=None)
    return [(data, rows, sums[1]) for data, rows in zip(batches, counts, strict=True)], sums[0] > 0
