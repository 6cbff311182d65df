"""Losses, metrics and states that replicas cannot have as one device has them; and many that they can."""

import sys

import keras
import tensorflow as tf
from facts import note, table
from keras import ops

layers = keras.layers


class OfItsOwn(keras.losses.Loss):
    def __call__(self, y_true, y_pred, sample_weight=None):
        return ops.log(ops.mean(ops.square(y_true - y_pred)) + 1.0)


class Compares(layers.Layer):
    def call(self, x):
        return ops.matmul(ops.softmax(ops.matmul(x, ops.transpose(x))), x)


class Pairs(keras.metrics.Metric):
    def __init__(self):
        super().__init__(name="pairs")
        self.smaller = self.add_variable((), initializer="zeros", name="smaller")

    def update_state(self, y_true, y_pred, sample_weight=None):
        smaller = ops.reshape(y_true, (-1,)) < ops.reshape(y_pred, (-1, 1))
        self.smaller.assign_add(ops.sum(ops.cast(smaller, "float32")))

    def result(self):
        return self.smaller


class CodeBook(layers.Layer):
    def __init__(self):
        super().__init__()
        self.uses = self.add_weight(shape=(4,), initializer="zeros", trainable=False, name="uses")

    def call(self, x, training=False):
        if training:
            counts = ops.sum(ops.one_hot(ops.argmax(x, axis=-1), 4), axis=0)
            self.uses.assign(0.9 * self.uses + 0.1 * counts)
        return x


class Scaled(keras.Sequential):
    def train_step(self, data):
        self.scale.assign(0.9 * self.scale + 0.1 * tf.reduce_mean(data[0]))
        self.count.assign_add(1)
        return {**super().train_step(data), "largest": tf.reduce_max(data[0])}


def fitted(*between, loss="mse", kind=keras.Sequential, **options):
    model = kind([keras.Input((6,)), layers.Dense(4), *between, layers.Dense(1)])
    model.scale, model.count = tf.Variable(0.0, trainable=False, name="scale"), tf.Variable(0, trainable=False)
    model.compile("sgd", loss, **options)
    x, y = table()
    model.fit(x, y[:, None].astype("float32"), batch_size=16, verbose=0)
    return model


if sys.argv[1] == "told":
    fitted(loss=lambda y, p: ops.max(ops.abs(y - p)))
    fitted(loss=OfItsOwn(name="of_its_own"))
    fitted(Compares())
    fitted(metrics=[Pairs()])
    fitted(CodeBook())
    scales = [float(fitted(kind=Scaled).scale)]
else:
    weight = {"kernel_regularizer": "l2", "activity_regularizer": "l1"}
    normed = layers.SpectralNormalization(layers.Dense(4, **weight))
    fitted(
        layers.BatchNormalization(), layers.Dropout(0.1), normed, layers.GaussianNoise(0.1), weighted_metrics=["mae"]
    )
    fitted(layers.Reshape((2, 2)), layers.LSTM(3, dropout=0.1), metrics=["mse", keras.metrics.R2Score()])
    fitted(layers.Dense(4, activation="sigmoid"), loss="binary_crossentropy", metrics=[keras.metrics.AUC(), "accuracy"])
    fitted(layers.UnitNormalization(), layers.GroupNormalization(2), loss=keras.losses.Huber())
    scales = []
note(scales=scales)
