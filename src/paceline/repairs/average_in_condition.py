"""`ema_overwrite_frequency` fails under MirroredStrategy for the same reason as gradient accumulation."""

from __future__ import annotations

from paceline.repairs.repair import Repair
from paceline.repairs.stock import fails, line_model, ones, two_replicas


def witness() -> bool:
    """Returns whether training with an overwriting moving average raises on two replicas."""
    import keras

    model = line_model(two_replicas(), lambda: keras.optimizers.SGD(0.1, use_ema=True, ema_overwrite_frequency=2))
    x, y = ones(8)
    return fails(lambda: model.fit(x, y, batch_size=2, verbose=0))


REPAIR = Repair(
    title="use_ema with ema_overwrite_frequency fails under MirroredStrategy",
    thread="keras/src/optimizers/base_optimizer.py (_overwrite_model_variables_with_average_value inside ops.cond)",
    keras=("3.0", None),
    mended_in="paceline.training.gradients",
    witness=witness,
)
