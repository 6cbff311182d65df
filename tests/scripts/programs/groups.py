"""Fits whose steps may run in groups, over data of every kind of length; counts steps, batches and calls."""

import sys
import time
import warnings

import keras
import numpy as np
import tensorflow as tf
from facts import note, weights

warnings.simplefilter("ignore")
if "paceline" in sys.modules:
    from paceline.training import pace

    pace.TARGET_S = 1e6  # groups as large as they may be, however slow the machine
ROWS = 8


def batches(count):
    x = np.random.default_rng(4).normal(size=(count * ROWS, 3)).astype("float32")
    return tf.data.Dataset.from_tensor_slices((x, x.sum(axis=1, keepdims=True))).batch(ROWS)


def streamed(count):
    """Batches whose number nobody knows before they end."""
    return batches(count).filter(lambda x, y: True)


lengths = iter([45, 30, 60])


def growing():
    """Another number of batches each time."""
    yield from batches(next(lengths)).as_numpy_iterator()


SIGNATURE = (tf.TensorSpec([None, 3]), tf.TensorSpec([None, 1]))
FITS = {
    "known": lambda: (batches(45), {}),
    "streamed": lambda: (streamed(45), {}),
    "endless": lambda: (batches(45).repeat(), {"steps_per_epoch": 20}),
    "fewer steps than data": lambda: (batches(45), {"steps_per_epoch": 15}),
    "more steps than data": lambda: (streamed(45), {"steps_per_epoch": 60}),
    "another number each epoch": lambda: (tf.data.Dataset.from_generator(growing, output_signature=SIGNATURE), {}),
}


def slowing():
    """Batches that come fast at first, and later do not."""
    for number, batch in enumerate(batches(45).as_numpy_iterator()):
        if number > 20:
            time.sleep(0.05)
        yield batch


class Line(keras.metrics.Metric):
    """A state of 80 kB: it is summed once in a group."""

    def __init__(self):
        super().__init__(name="line")
        self.under = self.add_variable((20_000,), initializer="zeros", name="under")

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.under.assign_add(tf.fill([20_000], tf.reduce_sum(tf.abs(y_true))))

    def result(self):
        return tf.reduce_mean(self.under)


#: Data that end in the middle of an epoch, several epochs on: (batches, steps of an epoch).
CUT = {
    "one more than an epoch": lambda: (streamed(26), 25),
    "one fewer": lambda: (streamed(24), 25),
    "twice, of unknown length": lambda: (streamed(26).repeat(2), 40),
    "one and a half": lambda: (streamed(30), 20),
}


class Notes(keras.callbacks.Callback):
    """Looks at epochs only: steps may run in groups."""

    def __init__(self):
        super().__init__()
        self.iterations, self.losses, self.line = [], [], []

    def on_epoch_end(self, epoch, logs=None):
        self.iterations.append(int(self.model.optimizer.iterations))
        self.losses.append(logs["loss"])
        self.line.append(logs.get("line", 0.0))


class Batches(Notes):
    """Looks at batches."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append(batch)


def fit(data, options, callback, epochs=3, **compile_options):
    keras.utils.set_random_seed(7)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.01), "mse", **compile_options)
    make, calls = model.make_train_function, []

    def counting():
        inner = make() or model.train_function

        def function(iterator):
            calls.append(1)
            return inner(iterator)

        model.train_function = function

    model.make_train_function = counting
    model.fit(data, epochs=epochs, verbose=0, callbacks=[callback], **options)
    return {
        "iterations": callback.iterations,
        "losses": callback.losses,
        "line": callback.line,
        "weights": weights(model),
        "calls": len(calls),
        "batches": getattr(callback, "seen", None),
    }


def main():
    note(**{name: fit(*make(), Notes()) for name, make in FITS.items()})
    note(each_batch=fit(batches(45), {}, Batches()))
    note(as_asked=fit(batches(45), {}, Batches(), steps_per_execution=10))
    if "paceline" in sys.modules:
        pace.LIMIT_S = 0.2
    slow = tf.data.Dataset.from_generator(slowing, output_signature=SIGNATURE)
    note(slow=fit(slow, {}, Notes()), slow_line=fit(slow, {}, Notes(), metrics=[Line()]))
    for name, make in CUT.items():
        seen = {}
        for callback in (Notes(), Batches()):
            data, steps = make()
            seen[type(callback).__name__] = fit(data, {"steps_per_epoch": steps}, callback, epochs=5)
        note(**{name: seen})
    print("done")


main()
