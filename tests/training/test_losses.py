"""Which losses are no mean over rows."""

from __future__ import annotations

import keras
import pytest

from paceline.training.losses import of_whole_batches

LOSSES = keras.losses


@pytest.mark.parametrize(
    ("loss", "names"),
    [
        ("mse", []),
        (LOSSES.Dice(), ["dice"]),
        (LOSSES.Dice(axis=(1, 2, 3)), []),
        (LOSSES.Tversky(axis=(0, 1)), ["tversky"]),
        (LOSSES.Circle(), ["circle"]),
        ([LOSSES.Dice(), "mae"], ["dice"]),
        ({"a": "dice", "b": LOSSES.Huber()}, ["dice"]),
    ],
    ids=str,
)
def test_losses_that_look_at_a_whole_batch_are_known(loss, names):
    x = keras.Input((4,))
    model = keras.Model(x, {"a": keras.layers.Dense(1)(x), "b": keras.layers.Dense(1)(x)})
    model.compile("sgd", loss)
    assert of_whole_batches(model) == names
