"""Clipping acts on each replica's gradient before aggregation, so that the bound grows with the number of replicas."""

from __future__ import annotations

from paceline.repairs.repair import Repair
from paceline.repairs.stock import line_model, ones, two_replicas


def witness() -> bool:
    """Returns whether an update clipped to norm 1 moves the weight by 2 on two replicas."""
    import keras

    model = line_model(two_replicas(), lambda: keras.optimizers.SGD(1.0, global_clipnorm=1.0))
    x, y = ones(8)
    model.fit(x, y * 100, batch_size=8, verbose=0)
    return bool(abs(float(model.get_weights()[0][0, 0])) > 1.5)


REPAIR = Repair(
    title="clipnorm, clipvalue and global_clipnorm act before aggregation: the bound depends on the number of replicas",
    thread="https://github.com/tensorflow/tensorflow/issues/33929",
    keras=("3.5", None),
    mended_in="paceline.training.gradients",
    witness=witness,
)
