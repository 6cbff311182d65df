"""`fit` under MultiWorkerMirroredStrategy stops with an error: scalar logs are reduced along an axis."""

from __future__ import annotations

from paceline.repairs.repair import Repair
from paceline.repairs.stock import fails


def witness() -> bool:
    """Returns whether Keras' reduction of a scalar log raises as it does in `fit` on several workers."""
    import tensorflow as tf
    from keras.src.backend.tensorflow import trainer

    in_multi_worker = trainer._collective_all_reduce_multi_worker
    trainer._collective_all_reduce_multi_worker = lambda strategy: True
    try:
        strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
        return fails(lambda: trainer.reduce_per_replica(tf.constant(1.0), strategy, "mean"))
    finally:
        trainer._collective_all_reduce_multi_worker = in_multi_worker


REPAIR = Repair(
    title="model.fit fails under MultiWorkerMirroredStrategy: Invalid reduction dimension 0",
    thread="https://github.com/keras-team/keras/issues/20585",
    keras=("3.3", None),
    mended_in="paceline.training.trainer",
    witness=witness,
)
