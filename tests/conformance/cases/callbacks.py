"""Callbacks decide alike, and what they change reaches every replica."""

from __future__ import annotations

import random

import keras
import tensorflow as tf

from cases.table import Outcome, case, classes, mlp, regression, sgd, train, with_values


@case("EarlyStopping", on=("four",))
def early_stopping():
    model = mlp(outputs=3, activation="softmax")
    model.compile(sgd(learning_rate=0.9), "sparse_categorical_crossentropy")
    stop = keras.callbacks.EarlyStopping("val_loss", patience=2, restore_best_weights=True)
    x, y = classes()
    outcome = train(model, x[:40], y[:40], validation_data=(x[40:], y[40:]), epochs=12, callbacks=[stop])
    return with_values(outcome, stopped=stop.stopped_epoch)


@case("ReduceLROnPlateau")
def reduce_learning_rate():
    model = mlp()
    model.compile(sgd(), "mse")
    reduce = keras.callbacks.ReduceLROnPlateau("loss", factor=0.3, patience=1, min_delta=0.5)
    return with_values(train(model, *regression(), epochs=5, callbacks=[reduce]), rate=model.optimizer.learning_rate)


@case("LearningRateScheduler", on=("core",))
def learning_rate_scheduler():
    model = mlp()
    model.compile(sgd(), "mse")
    scheduler = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * 0.5)
    return train(model, *regression(), epochs=3, callbacks=[scheduler])


@case("learning rate changed by a callback")
def learning_rate_in_callback():
    class Changes(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            self.model.optimizer.learning_rate = 0.01 / (1 + batch)

    model = mlp()
    model.compile(sgd(), "mse")
    return train(model, *regression(), callbacks=[Changes()])


@case("a callback that stops on one worker alone", like_one_device=False, on=("core",))
def one_worker_stops():
    class Stops(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            context = _rank()
            if context == 0 and batch == 1:
                self.model.stop_training = True

    model = mlp()
    model.compile(sgd(), "mse")
    outcome = train(model, *regression(), epochs=3, callbacks=[Stops()])
    return with_values(outcome, iterations=model.optimizer.iterations)


def _rank():
    try:
        import paceline
    except ImportError:
        return 0
    return paceline.rank()


@case("logs and metrics are read by one worker alone", on=("core",))
def reading_is_no_collective():
    seen = []

    class Reads(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if _rank() == 0:
                seen.append([float(v) for v in logs.values()])
                seen.extend(float(m.result()) for m in self.model.metrics if m.name == "loss")

    model = mlp()
    model.compile(sgd(), "mse", metrics=["mae"])
    return train(model, *regression(), callbacks=[Reads()])


@case("one seed for everything")
def seeds_are_alike():
    import numpy as np

    return Outcome(
        values={
            "python": [random.random() for _ in range(2)],  # noqa: S311
            "numpy": np.random.rand(2),  # noqa: NPY002
            "tensorflow": tf.random.normal([2]),
            "keras": keras.random.normal((2,)),
        }
    )


@case("SwapEMAWeights")
def swap_ema_weights():
    model = mlp()
    model.compile(sgd(use_ema=True, ema_momentum=0.7), "mse")
    swap = keras.callbacks.SwapEMAWeights(swap_on_epoch=True)
    return train(model, *regression(), validation_data=regression(rows=21), callbacks=[swap])
