"""Hook on a replica's `all_reduce`: a replica that has no rows adds nothing to what a layer exchanges.

It sees a stand-in row, so that no operation meets an empty batch; a synchronised
BatchNorm must not count that row.
"""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import distribute_lib

from paceline.training.current import current_step


def install() -> None:
    """Puts the hook in place. Once per worker."""
    original = distribute_lib.ReplicaContextBase.all_reduce

    @functools.wraps(original)
    def all_reduce(self: Any, reduce_op: Any, value: Any, options: Any = None) -> Any:
        step = current_step()
        if step is not None:
            value = tf.nest.map_structure(step.exchanged, value)
        return original(self, reduce_op, value, options)

    distribute_lib.ReplicaContextBase.all_reduce = all_reduce
