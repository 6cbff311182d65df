"""Losses: every reduction, weight, mask and addition enters once."""

from __future__ import annotations

import keras
import numpy as np
from keras import ops

from cases.table import FEATURES, case, classes, fit_mlp, mlp, regression, row_weights, sgd, train, with_values

layers = keras.layers


@case("regularizers", on=("four", "xla"))
def regularizers():
    model = mlp(kernel_regularizer=keras.regularizers.L2(0.02), bias_regularizer=keras.regularizers.L1(0.01))
    model.compile(sgd(), "mse", metrics=["mae"])
    return train(model, *regression(), validation_data=regression(rows=21))


@case("activity regularizer", on=("four",))
def activity_regularizer():
    model = mlp(activity_regularizer=keras.regularizers.L2(0.003))
    model.compile(sgd(), "mse")
    return train(model, *regression(), validation_data=regression(rows=21))


class AddsLoss(layers.Layer):
    def call(self, x):
        self.add_loss(0.1 * ops.mean(ops.square(x)))
        return x


@case("add_loss")
def add_loss():
    x = keras.Input((FEATURES,))
    model = keras.Model(x, layers.Dense(1)(AddsLoss()(layers.Dense(8, activation="tanh")(x))))
    model.compile(sgd(), "mse")
    return train(model, *regression())


def _scalar(y_true, y_pred):
    return ops.mean(ops.square(y_true - y_pred)) + 0.1 * ops.mean(ops.abs(y_pred))


@case("custom loss function, scalar", on=("core",))
def scalar_loss():
    return fit_mlp(sgd(), loss=_scalar)


class OwnLoss(keras.losses.Loss):
    def call(self, y_true, y_pred):
        return ops.mean(ops.power(y_true - y_pred, 4), axis=-1)


@case("custom Loss subclass")
def loss_subclass():
    return fit_mlp(sgd(learning_rate=0.001), loss=OwnLoss())


@case('reduction="sum"')
def reduction_sum():
    loss = keras.losses.MeanSquaredError(reduction="sum")
    return fit_mlp(sgd(learning_rate=0.002), loss=loss, validation_data=regression(rows=21))


@case('reduction="mean_with_sample_weight"', on=("four",))
def reduction_mean_with_sample_weight():
    loss = keras.losses.MeanSquaredError(reduction="mean_with_sample_weight")
    return fit_mlp(sgd(), loss=loss, sample_weight=row_weights())


@case("sample_weight", on=("core",))
def sample_weight():
    model = mlp()
    model.compile(sgd(), "mse", metrics=["mae"], weighted_metrics=[keras.metrics.MeanSquaredError(name="weighted")])
    x, y = regression()
    return train(model, x, y, sample_weight=row_weights(), validation_data=(x[:21], y[:21], row_weights(21)))


@case("class_weight")
def class_weight():
    model = mlp(outputs=3, activation="softmax")
    model.compile(sgd(), "sparse_categorical_crossentropy", weighted_metrics=["accuracy"])
    return train(model, *classes(), class_weight={0: 0.2, 1: 1.0, 2: 3.0})


def _sequences(rows=50, length=5):
    rng = np.random.default_rng(3)
    tokens = rng.integers(1, 12, size=(rows, length))
    # Rows have very different numbers of steps: replicas hold very different numbers of valid entries.
    lengths = np.clip((np.arange(rows) % length) + 1, 1, length)
    tokens[np.arange(length)[None, :] >= lengths[:, None]] = 0
    return tokens.astype("int32"), (tokens % 3).astype("int32")


def _tagger():
    tokens = keras.Input((5,), dtype="int32")
    hidden = layers.LSTM(4, return_sequences=True)(layers.Embedding(12, 4, mask_zero=True)(tokens))
    return keras.Model(tokens, layers.Dense(3, activation="softmax")(hidden))


@case("masked sequences, loss per time step", on=("four", "xla"))
def masked_sequence():
    model = _tagger()
    model.compile(sgd(), "sparse_categorical_crossentropy", weighted_metrics=["accuracy"])
    return train(model, *_sequences())


@case("masked sequences, loss per time step")
def masked_sequence_weighted_mean():
    model = _tagger()
    loss = keras.losses.SparseCategoricalCrossentropy(reduction="mean_with_sample_weight")
    model.compile(sgd(), loss)
    x, y = _sequences()
    return train(model, x, y, sample_weight=np.random.default_rng(1).uniform(size=(50, 5)).astype("float32"))


class ComputesLoss(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1)
        self.extra = keras.metrics.Mean(name="extra")

    def call(self, x):
        return self.dense(x)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        loss = ops.mean(ops.square(y - y_pred)) + 0.01 * ops.sum(ops.square(self.dense.kernel))
        self.extra.update_state(loss * 2)
        return loss


@case("compute_loss override")
def compute_loss_override():
    model = ComputesLoss()
    model.compile(sgd(), metrics=["mae"])
    outcome = train(model, *regression(), validation_data=regression(rows=21))
    return with_values(
        outcome, evaluate=model.evaluate(*regression(rows=21), batch_size=8, verbose=0, return_dict=True)
    )


@case("losses of several outputs with weights")
def loss_weights():
    x = keras.Input((FEATURES,))
    hidden = layers.Dense(8, activation="tanh")(x)
    model = keras.Model(x, [layers.Dense(1, name="a")(hidden), layers.Dense(3, activation="softmax", name="b")(hidden)])
    model.compile(
        sgd(),
        ["mse", "sparse_categorical_crossentropy"],
        loss_weights=[0.3, 2.0],
        metrics=[["mae"], ["accuracy"]],
    )
    data, y = regression()
    return train(model, data, [y, classes()[1]], sample_weight=[row_weights(), row_weights()[::-1].copy()])
