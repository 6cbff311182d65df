"""`steps_per_execution > 1` fails under MirroredStrategy: a collective's key is captured at call time."""

from __future__ import annotations

from paceline.repairs.repair import Repair
from paceline.repairs.stock import fails, line_model, ones, two_replicas


def witness() -> bool:
    """Returns whether training with two steps per execution raises on two replicas."""
    import keras

    model = line_model(two_replicas(), lambda: keras.optimizers.SGD(0.1), steps_per_execution=2)
    x, y = ones(8)
    return fails(lambda: model.fit(x, y, batch_size=4, verbose=0))


REPAIR = Repair(
    title="steps_per_execution > 1 fails under MirroredStrategy: You must feed a value for placeholder tensor",
    thread="https://github.com/keras-team/keras/issues/19246",
    keras=("3.0", None),
    mended_in="paceline.collectives.ring (reuse_instance_keys)",
    witness=witness,
)
