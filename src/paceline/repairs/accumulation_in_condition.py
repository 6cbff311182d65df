"""`gradient_accumulation_steps` fails under MirroredStrategy: `merge_call` inside a condition."""

from __future__ import annotations

from paceline.repairs.repair import Repair
from paceline.repairs.stock import fails, line_model, ones, two_replicas


def witness() -> bool:
    """Returns whether training with accumulation raises on two replicas."""
    import keras

    model = line_model(two_replicas(), lambda: keras.optimizers.SGD(0.1, gradient_accumulation_steps=2))
    x, y = ones(8)
    return fails(lambda: model.fit(x, y, batch_size=4, verbose=0))


REPAIR = Repair(
    title="gradient_accumulation_steps fails: merge_call called while defining a new graph",
    thread="https://github.com/keras-team/keras/issues/20582",
    keras=("3.0", None),
    mended_in="paceline.training.gradients",
    witness=witness,
)
