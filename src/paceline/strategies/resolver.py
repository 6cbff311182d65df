"""What `strategy.cluster_resolver` shows to a script: the job's workers and this one's place among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf


def make_resolver(cluster: Mapping[str, Sequence[str]] | None, rank: int = 0, size: int = 1) -> Any:
    """Returns a cluster resolver. Scripts ask it `task_type` and `task_id` to find the chief. Collective: no.

    Args:
        cluster: `{"worker": ["host:port", ...]}`; None or empty where workers need no addresses.
        rank: This worker.
        size: Number of workers.
    """
    spec = tf.train.ClusterSpec(cluster or {"worker": ["localhost:0"] * size})
    return tf.distribute.cluster_resolver.SimpleClusterResolver(spec, task_type="worker", task_id=rank)
