"""Hook on Keras' seed generators: replicas draw different numbers from the same state.

Every replica's generator holds the same state, so that all stay alike; replica `i`
draws with an offset. Otherwise dropout would strike the same places in every
replica's rows. Replica 0 draws what one device would draw.
"""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf
from keras.src.random.seed_generator import SeedGenerator

from paceline.training.current import current_step

#: Distance between the streams of two replicas: more draws than a job makes from one generator.
_STRIDE = 1 << 30


def install() -> None:
    """Puts the hook in place. Once per worker."""
    original = SeedGenerator.next

    @functools.wraps(original)
    def following(self: Any, ordered: bool = True) -> Any:
        seed = original(self, ordered)
        step = current_step()
        if step is None or step.num_replicas == 1:
            return seed
        offset = tf.cast(step.replica, tf.int64) * _STRIDE
        return seed + tf.cast(tf.stack([tf.zeros_like(offset), offset]), seed.dtype)

    SeedGenerator.next = following
