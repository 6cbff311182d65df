"""Which callbacks may stop a loop in its middle, so that workers have to agree after each batch."""

from __future__ import annotations

import keras
import pytest

from paceline.callbacks.alike import _TEST, _TRAIN, _may_stop_at_a_batch


class Stopper(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        self.model.stop_training = True


class Logger(keras.callbacks.CSVLogger):
    def on_batch_end(self, batch, logs=None):
        self.model.stop_training = True


class AtEpochs(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        self.model.stop_training = True


@pytest.mark.parametrize(
    ("callback", "may"),
    [
        (Stopper(), True),
        (Logger("x.csv"), True),
        (keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: None), True),
        (keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: None), False),
        (AtEpochs(), False),
        (keras.callbacks.CSVLogger("x.csv"), False),
        (keras.callbacks.EarlyStopping(), False),
        (keras.callbacks.History(), False),
        (keras.callbacks.TerminateOnNaN(), True),
    ],
    ids=lambda value: type(value).__name__,
)
def test_training(callback, may):
    assert _may_stop_at_a_batch(callback, _TRAIN) is may


def test_a_hook_of_training_does_not_stop_an_evaluation():
    assert not _may_stop_at_a_batch(Stopper(), _TEST)
