"""Replicas with unequal rows count alike: the last, smaller batch is a biased mean."""

from __future__ import annotations

from paceline.repairs.repair import Repair
from paceline.repairs.stock import line_model, two_replicas


def witness() -> bool:
    """Returns whether three rows on two replicas give another update than the mean over the three."""
    import keras
    import numpy as np

    model = line_model(two_replicas(), lambda: keras.optimizers.SGD(0.1))
    # The first batch is whole and right already; the second has two rows for one replica and one for the other.
    x = np.ones((7, 1), "float32")
    y = np.array([[0.0]] * 6 + [[3.0]], "float32")
    model.fit(x, y, batch_size=4, shuffle=False, verbose=0)
    # d/dw mean((w - y)^2) at 0 is -2 mean(y) = -2, so one step of 0.1 ends at 0.2
    return bool(abs(float(model.get_weights()[0][0, 0]) - 0.2) > 0.02)


REPAIR = Repair(
    title="replicas with different numbers of rows count alike: a partial batch is a biased mean",
    thread="keras/src/backend/tensorflow/optimizer.py (_all_reduce_sum_gradients sums means of replicas)",
    keras=("3.5", None),
    mended_in="paceline.training.step",
    witness=witness,
)
