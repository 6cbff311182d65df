"""Metrics: their states are sums over all replicas, whatever they count."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from cases.table import FEATURES, case, classes, mlp, regression, sgd, train, with_values


@case("metrics of a binary classifier", on=("core",))
def binary_metrics():
    x, y = classes(count=2)
    names = ["accuracy", keras.metrics.AUC(num_thresholds=20), keras.metrics.Precision(), keras.metrics.Recall()]
    model = mlp(activation="sigmoid")
    model.compile(sgd(), "binary_crossentropy", metrics=names)
    outcome = train(model, x, y[:, None], validation_data=(x[:21], y[:21, None]))
    return with_values(outcome, evaluate=model.evaluate(x, y[:, None], batch_size=16, verbose=0))


@case("metrics of several classes")
def multi_class_metrics():
    x, y = classes()
    model = mlp(outputs=3, activation="softmax")
    names = [
        keras.metrics.F1Score(average="macro"),
        keras.metrics.CategoricalAccuracy(),
        keras.metrics.TopKCategoricalAccuracy(k=2),
    ]
    model.compile(sgd(), "categorical_crossentropy", metrics=names)
    return train(
        model, x, keras.utils.to_categorical(y, 3), validation_data=(x[:21], keras.utils.to_categorical(y[:21], 3))
    )


@case("MeanIoU")
def mean_iou():
    x, y = classes()
    model = mlp(outputs=3, activation="softmax")
    iou = keras.metrics.MeanIoU(num_classes=3, sparse_y_true=True, sparse_y_pred=False)
    model.compile(sgd(), "sparse_categorical_crossentropy", metrics=[iou, "accuracy"])
    return train(model, x, y)


class SeesLogs(keras.callbacks.Callback):
    """The logs that a callback gets behind each execution of steps."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append({"batch": batch, **logs})


class Profile(keras.metrics.Metric):
    """How much each of 20,000 places of a line lies under the predictions: floats, 80 kB of them."""

    def __init__(self):
        super().__init__(name="profile")
        self.under = self.add_variable((20_000,), initializer="zeros", name="under")

    def update_state(self, y_true, y_pred, sample_weight=None):
        line = ops.linspace(0.0, 1.0, 20_000)
        self.under.assign_add(ops.sum(ops.relu(y_pred - line), axis=0))

    def result(self):
        return ops.sum(self.under)


def _uneven(x, y, sizes):
    """Batches of these sizes, one after the other."""
    ends = np.cumsum(sizes)
    parts = [(x[end - size : end], y[end - size : end]) for size, end in zip(sizes, ends, strict=True)]
    spec = tuple(tf.TensorSpec((None, *a.shape[1:]), a.dtype) for a in (x, y))
    return tf.data.Dataset.from_generator(lambda: iter(parts), output_signature=spec)


@case("large metric states", on=("core", "xla"))
def large_states():
    # States of 128 kB and 80 kB travel once in three steps. Batches of one row leave replicas without any, in
    # the middle of three steps and at their end; the last group has one step.
    x, y = classes(count=2)
    inputs = keras.Input((FEATURES,))
    wide = keras.layers.Dense(128, activation="softmax", name="wide")(inputs)
    yes = keras.layers.Dense(1, activation="sigmoid", name="yes")(inputs)
    model = keras.Model(inputs, {"wide": wide, "yes": yes})
    iou = keras.metrics.MeanIoU(num_classes=128, sparse_y_true=True, sparse_y_pred=False)
    profile = Profile()
    model.compile(
        sgd(),
        {"wide": "sparse_categorical_crossentropy", "yes": "binary_crossentropy"},
        metrics={"wide": [iou, "accuracy"], "yes": [profile, "mae"]},
        steps_per_execution=3,
    )
    data = _uneven(x, y, [16, 1, 9, 3, 16, 1, 4]).map(lambda a, b: (a, {"wide": b, "yes": b[:, None]}))
    logs = SeesLogs()
    outcome = train(model, data, validation_data=data, callbacks=[logs], states=(iou, profile))
    return with_values(outcome, logs=logs.seen, evaluate=model.evaluate(data, verbose=0, return_dict=True))


class OwnMetric(keras.metrics.Metric):
    """The rows' squared errors summed by hand, and how many there were."""

    def __init__(self, name="own"):
        super().__init__(name=name)
        self.total = self.add_variable((), initializer="zeros", name="total")
        self.count = self.add_variable((), initializer="zeros", dtype="int32", name="count")

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.total.assign_add(ops.sum(ops.square(y_true - y_pred)))
        self.count.assign(self.count + ops.shape(y_true)[0])

    def result(self):
        return self.total / ops.maximum(ops.cast(self.count, "float32"), 1.0)


@case("custom metric")
def custom_metric():
    model = mlp()
    model.compile(sgd(), "mse", metrics=[OwnMetric()])
    x, y = regression()
    return train(model, x, y, validation_data=(x[:21], y[:21]))


class Largest(keras.metrics.Metric):
    """Counts the rows whose largest input was right: its result is the variable, or that variable's value."""

    def __init__(self, name, *, inner):
        super().__init__(name=name)
        self.inner = inner
        self.hits = self.add_variable((), initializer="zeros", name="hits")

    def update_state(self, y_true, y_pred, sample_weight=None):
        self.hits.assign_add(ops.sum(ops.cast(ops.abs(y_true - y_pred) < 1.0, "float32")))

    def result(self):
        return self.hits.value if self.inner else self.hits


@case("metric whose result is a variable", on=("core",))
def metric_variable():
    # Without validation_data: it would go on counting in the variable that stock Keras logs after it.
    model = mlp()
    model.compile(sgd(), "mse", metrics=[Largest("outer", inner=False), Largest("inner", inner=True)])
    x, y = regression()
    outcome = train(model, x, y)
    return with_values(outcome, evaluate=model.evaluate(x, y, batch_size=16, verbose=0))


@case("metric that is a function")
def function_metric():
    def within(y_true, y_pred):
        return ops.cast(ops.abs(y_true - y_pred) < 1.0, "float32")

    model = mlp()
    model.compile(sgd(), "mse", metrics=[within, keras.metrics.RootMeanSquaredError(), keras.metrics.R2Score()])
    return train(model, *regression())


@case("add_metric-like trackers in a layer")
def metric_in_a_layer():
    class Tracks(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.size = keras.metrics.Mean(name="size")

        def call(self, x):
            self.size.update_state(ops.abs(x))
            return x

    x = keras.Input((6,))
    model = keras.Model(x, keras.layers.Dense(1)(Tracks()(keras.layers.Dense(4)(x))))
    model.compile(sgd(), "mse")
    return train(model, *regression())
