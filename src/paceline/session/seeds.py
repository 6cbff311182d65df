"""One seed for everything random in a worker, so that all workers draw the same data and the same weights."""

from __future__ import annotations

import keras
import numpy as np
from numpy.random import bit_generator


def seed_everything(seed: int) -> None:
    """Seeds Python's, NumPy's, TensorFlow's and Keras' random numbers. Once per worker, before the script.

    NumPy's new generators know no global seed: `np.random.default_rng()`, `RandomState()`
    and `np.random.seed()` ask the operating system, each worker another number. They
    ask one place, which gives them numbers out of the job's seed instead (NumPy 1.26-2.5).

    Args:
        seed: The job's seed.
    """
    keras.utils.set_random_seed(seed)
    entropy = np.random.Generator(np.random.PCG64(seed))

    def randbits(num_bits: int) -> int:
        return int.from_bytes(entropy.bytes((num_bits + 7) // 8), "little") >> (-num_bits % 8)

    randbits.paceline_entropy = entropy  # type: ignore[attr-defined]  # a checkpoint keeps its state
    bit_generator.randbits = randbits
