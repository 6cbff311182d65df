"""String inputs fail under MirroredStrategy: Keras averages a batch over replicas before it builds the model."""

from __future__ import annotations

from paceline.repairs.repair import Repair
from paceline.repairs.stock import fails, two_replicas


def witness() -> bool:
    """Returns whether a model of strings raises on two replicas."""
    import keras
    import tensorflow as tf

    strategy = two_replicas()
    with strategy.scope():
        lookup = keras.layers.StringLookup(vocabulary=["a", "b"], output_mode="one_hot")
        model = keras.Sequential([keras.Input((1,), dtype="string"), lookup, keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    data = tf.data.Dataset.from_tensor_slices((tf.constant([["a"], ["b"]] * 4), tf.ones([8, 1]))).batch(4)
    return fails(lambda: model.fit(data, verbose=0))


REPAIR = Repair(
    title="string inputs fail under a strategy: the first batch is averaged over replicas",
    thread="https://github.com/tensorflow/tensorflow/issues/80951",
    keras=("3.5", None),
    mended_in="paceline.training.trainer",
    witness=witness,
)
