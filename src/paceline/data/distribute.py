"""What `strategy.experimental_distribute_dataset` returns on a worker: its rows of every global batch."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from paceline.data.share import bounds, slice_rows, total_rows


def share_dataset(dataset: tf.data.Dataset, rank: int, size: int) -> tf.data.Dataset:
    """Returns this worker's rows of each global batch; a share may be empty. Collective: no.

    Args:
        dataset: Global batches, the same and in the same order on every worker.
        rank: This worker.
        size: Number of workers.
    """
    if size == 1:
        return dataset

    def cut(*element: Any) -> Any:
        data = element if len(element) > 1 else element[0]
        total = total_rows(data)
        begin, end = bounds(total, rank, size)
        return tf.nest.map_structure(lambda leaf: slice_rows(leaf, begin, end, total), data)

    shared = dataset.map(cut, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True).prefetch(tf.data.AUTOTUNE)
    shared.paceline_behind = dataset
    return shared
