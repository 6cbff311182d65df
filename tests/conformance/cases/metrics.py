"""Metrics: their states are sums over all replicas, whatever they count."""

from __future__ import annotations

import keras
from keras import ops

from cases.table import case, classes, mlp, regression, sgd, train, with_values


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
