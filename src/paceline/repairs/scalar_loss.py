"""A loss function that returns a scalar is not divided by the number of replicas: gradients are N times too large."""

from __future__ import annotations

from paceline.repairs.repair import Repair
from paceline.repairs.stock import line_model, ones, two_replicas


def witness() -> bool:
    """Returns whether one step on two replicas moves the weight twice as far as the mathematics says."""
    import keras

    def scalar(y_true: object, y_pred: object) -> object:
        return keras.ops.mean(keras.ops.square(y_true - y_pred))  # type: ignore[operator]

    model = line_model(two_replicas(), lambda: keras.optimizers.SGD(0.1), scalar)
    x, y = ones(8)
    model.fit(x, y, batch_size=8, verbose=0)
    # d/dw mean((w - 1)^2) at 0 is -2, so one step of 0.1 ends at 0.2
    return bool(float(model.get_weights()[0][0, 0]) > 0.3)


REPAIR = Repair(
    title="a custom loss that returns a scalar gives gradients N times too large on N replicas",
    thread="keras/src/losses/loss.py (scale_loss_for_distribution is reached by reductions only)",
    keras=("3.8", None),
    mended_in="paceline.training.step",
    witness=witness,
)
