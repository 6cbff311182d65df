"""The optimizer's step counter moves once more at the end of data of unknown length."""

from __future__ import annotations

from paceline.repairs.repair import Repair
from paceline.repairs.stock import ones


def witness() -> bool:
    """Returns whether two epochs of four batches of unknown number end with a counter that is not eight."""
    import keras
    import tensorflow as tf

    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    data = tf.data.Dataset.from_tensor_slices(ones(8)).batch(2).filter(lambda x, y: True)
    model.fit(data, epochs=2, verbose=0)
    return int(model.optimizer.iterations.numpy()) != 8


REPAIR = Repair(
    title="optimizer.iterations drifts by one an epoch with data of unknown length: learning-rate schedules run ahead",
    thread="keras/src/backend/tensorflow/trainer.py (nothing orders the counter behind iterator.get_next)",
    keras=("3.0", None),
    mended_in="paceline.training.functions",
    witness=witness,
)
