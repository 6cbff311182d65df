"""LossScaleOptimizer looks at replica 0 alone: another replica's overflow reaches the weights."""

from __future__ import annotations

from paceline.repairs.repair import Repair
from paceline.repairs.stock import line_model, two_replicas


def witness() -> bool:
    """Returns whether a gradient that is not finite on replica 1 alone ends up in the weights."""
    import keras
    import numpy as np

    strategy = two_replicas()

    def optimizer() -> object:
        return keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1))

    model = line_model(strategy, optimizer)
    x = np.ones((4, 1), "float32")
    y = np.array([[1.0], [1.0], [np.inf], [1.0]], "float32")
    model.fit(x, y, batch_size=4, shuffle=False, verbose=0)
    return not bool(np.isfinite(model.get_weights()[0]).all())


REPAIR = Repair(
    title="mixed precision: the loss scale follows replica 0 alone, another replica's overflow goes into the weights",
    thread="keras/src/optimizers/loss_scale_optimizer.py (_tf_apply takes the first replica's verdict)",
    keras=("3.0", None),
    mended_in="paceline.training.gradients",
    witness=witness,
)
