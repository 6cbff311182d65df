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


def ragged_rows(x):
    return tf.RaggedTensor.from_tensor(x, lengths=tf.cast(x[:, 0] > 0.5, tf.int64) + 2)


class PadsInLoop(layers.Layer):
    def call(self, x):
        rows = ragged_rows(x)
        means = tf.map_fn(lambda scale: scale * tf.reduce_mean(rows.to_tensor(), axis=1), tf.constant([0.5, 0.5]))
        return x + tf.reduce_sum(means, axis=0)[:, None]


class CutsToLongest(layers.Layer):
    def call(self, x):
        lengths = tf.cast(x[:, 0] > 0.5, tf.int32) + 2
        return x + tf.reduce_mean(x[:, : tf.reduce_max(lengths)], axis=1, keepdims=True)


class Pads(layers.Layer):
    """Pads rows of the batch, each row by itself in a loop, and a table; and makes tensors of a batch's other sizes."""

    def call(self, x):
        rows, table = ragged_rows(x), tf.ragged.constant([[1.0], [2.0, 3.0]])
        pairs = rows.with_values(tf.RaggedTensor.from_uniform_row_length(rows.values, 1))
        alone = tf.map_fn(lambda row: tf.reduce_sum(row.to_tensor()), pairs, fn_output_signature=tf.float32)
        tables = tf.map_fn(lambda scale: scale * tf.reduce_sum(table.to_tensor()), tf.constant([0.5, 0.5]))
        places = tf.cast(tf.range(tf.shape(x)[0])[:, None] * 0 + tf.range(tf.shape(x)[1]), tf.float32)
        padded = tf.reduce_mean(rows.to_tensor(), axis=1) + tf.reduce_mean(rows.to_sparse().values)
        mask = tf.cast(tf.sequence_mask(rows.row_lengths()), tf.float32)
        return x + (alone + padded + tf.reduce_mean(mask, axis=1))[:, None] + places + tf.reduce_sum(tables)


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
    fitted(PadsInLoop())
    fitted(CutsToLongest())
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
    fitted(Pads(), metrics=["mae"])
    scales = []
note(scales=scales)
