"""Layers with state of their own: statistics, seeds, tables."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from cases.table import (
    EARLY_OPTIMIZER,
    FEATURES,
    Outcome,
    case,
    classes,
    dataset,
    mlp,
    regression,
    sgd,
    train,
    with_values,
)

layers = keras.layers


def _normed(**options):
    x = keras.Input((FEATURES,))
    hidden = layers.BatchNormalization(**options)(layers.Dense(8)(x))
    return keras.Model(x, layers.Dense(1)(keras.activations.tanh(hidden)))


@case("BatchNormalization, each replica's own statistics", like_one_device=False, on=("mirrored", "ring"))
def batch_norm():
    model = _normed()
    model.compile(sgd(), "mse")
    outcome = train(model, *regression(), validation_data=regression(rows=21))
    return with_values(outcome, predict=model.predict(regression()[0], batch_size=16, verbose=0))


@case("BatchNormalization(synchronized=True)", on=("mirrored", "four", "xla"))
def batch_norm_synchronized():
    model = _normed(synchronized=True, momentum=0.8)
    model.compile(sgd(), "mse")
    return train(model, *regression(), validation_data=regression(rows=21))


@case("Dropout", like_one_device=False, on=("mirrored", "ring"))
def dropout():
    x = keras.Input((FEATURES,))
    hidden = layers.GaussianNoise(0.1)(layers.Dropout(0.4)(layers.Dense(8)(x)))
    model = keras.Model(x, layers.Dense(1)(hidden))
    model.compile(sgd(), "mse")
    return train(model, *regression())


class Counts(layers.Layer):
    """Adds a table of the script's to its inputs, and counts the rows that it has seen."""

    def __init__(self, table):
        super().__init__()
        self.table = table
        sums = {"initializer": "zeros", "trainable": False, "aggregation": "sum"}
        self.rows = self.add_weight(shape=(), dtype="int32", name="rows", **sums)
        self.total = self.add_weight(shape=(FEATURES,), name="total", **sums)

    def call(self, x, training=False):
        if training:
            self.rows.assign_add(tf.shape(x)[0])
            self.total.assign_add(ops.sum(x, axis=0))
        return x + tf.gather(self.table, tf.cast(tf.abs(x[:, 0]), tf.int32))


@case("layer with counters and a table of constants", on=("core",))
def counters_and_table():
    # A table of more than 128 numbers is no part of a graph.
    layer = Counts(tf.constant(np.random.default_rng(4).normal(size=(60, FEATURES)).astype("float32")))
    model = keras.Sequential([keras.Input((FEATURES,)), layer, layers.Dense(1)])
    model.compile(sgd(), lambda y, p: ops.mean(ops.square(y - p)) + 0.0 * layer.table[0, 0])
    x, y = regression()
    outcome = train(model, x, y)
    return with_values(outcome, predict=model.predict(x, batch_size=16, verbose=0))


class Masks(keras.metrics.Metric):
    """Which inputs each replica's dropout kept, `[replica, input]`."""

    def __init__(self):
        super().__init__(name="kept")
        self.masks = self.add_variable((8, 32), initializer="zeros", name="masks")

    def update_state(self, mask, sample_weight=None):
        context = tf.distribute.get_replica_context()  # None while a model is built
        replica = context.replica_id_in_sync_group if context else 0
        self.masks.assign_add(tf.one_hot(replica, 8)[:, None] * mask[None, :])

    def result(self):
        return tf.reduce_sum(self.masks)


class ShowsMask(keras.Model):
    def __init__(self):
        super().__init__()
        self.dropout = layers.Dropout(0.5, seed=3)
        self.dense = layers.Dense(1)
        self.kept = Masks()

    def call(self, x, training=False):
        self.kept.update_state(self.dropout(tf.ones([32]), training=training))
        return self.dense(x)


@case("Dropout", like_one_device=False)
def dropout_masks_differ():
    model = ShowsMask()
    model.compile(keras.optimizers.SGD(0.01), "mse")
    return train(model, *regression(rows=16), epochs=1)


@case("Embedding, sparse gradients with SGD", on=("ring",))
def embedding_sgd():
    return _embedding(keras.optimizers.SGD(0.3))


@case("Embedding, sparse gradients with Adam", on=("mirrored", "ring", "xla"))
def embedding_adam():
    return _embedding(keras.optimizers.Adam(0.02, global_clipnorm=0.5))


def _embedding(optimizer):
    tokens = np.random.default_rng(2).integers(0, 30, size=(50, 4)).astype("int32")
    model = keras.Sequential([layers.Embedding(30, 5), layers.Flatten(), layers.Dense(1)])
    model.compile(optimizer, "mse")
    return train(model, tokens, regression()[1])


@case("Normalization.adapt", on=("four",))
def normalization_adapt():
    x, y = regression()
    norm = layers.Normalization()
    norm.adapt(x * 3 + 1)
    model = keras.Sequential([norm, layers.Dense(1)])
    model.compile(sgd(), "mse")
    outcome = train(model, x * 3 + 1, y)
    return with_values(outcome, mean=norm.mean, variance=norm.variance)


@case("Normalization.adapt")
def normalization_adapt_to_dataset():
    x, y = regression()
    norm = layers.Normalization()
    norm.adapt(dataset(x))
    model = keras.Sequential([norm, layers.Dense(1)])
    model.compile(sgd(), "mse")
    return with_values(train(model, dataset(x, y)), mean=norm.mean, variance=norm.variance)


def _words(rows=50):
    words = np.array(["ant", "bee", "cat", "dog", "elk", "fox", "gnu"], dtype=object)
    picks = np.random.default_rng(4).integers(0, 7, size=(rows, 4))
    return np.array([" ".join(words[p]) for p in picks], dtype=object), words[picks[:, 0]]


@case("StringLookup in the model", on=("ring",))
def string_lookup():
    _, firsts = _words()
    lookup = layers.StringLookup(vocabulary=["ant", "bee", "cat", "dog"], output_mode="one_hot")
    word = keras.Input((), dtype="string")
    model = keras.Model(word, layers.Dense(1)(lookup(word)))
    model.compile(sgd(), "mse")
    y = regression()[1]
    outcome = train(model, dataset(tf.constant(firsts.tolist()), y))
    predicted = model.predict(tf.constant(firsts.tolist()), batch_size=16, verbose=0)
    return with_values(outcome, predict=predicted)


@case("TextVectorization with adapt, in the model", on=("four",))
def text_vectorization_in_model():
    texts = tf.constant(_words()[0].tolist())
    vectorize = layers.TextVectorization(max_tokens=12, output_sequence_length=5)
    vectorize.adapt(texts)
    text = keras.Input((1,), dtype="string")
    hidden = layers.GlobalAveragePooling1D()(layers.Embedding(12, 4)(vectorize(text)))
    model = keras.Model(text, layers.Dense(1)(hidden))
    model.compile(sgd(), "mse")
    return train(model, dataset(texts[:, None], regression()[1]))


@case("TextVectorization with adapt, in the pipeline")
def text_vectorization_in_pipeline():
    texts = tf.constant(_words()[0].tolist())
    vectorize = layers.TextVectorization(max_tokens=12, output_sequence_length=5)
    vectorize.adapt(tf.data.Dataset.from_tensor_slices(texts).batch(8))
    model = keras.Sequential([layers.Embedding(12, 4), layers.GlobalAveragePooling1D(), layers.Dense(1)])
    model.compile(sgd(), "mse")
    return train(model, dataset(texts, regression()[1]).map(lambda text, y: (vectorize(text), y)))


@case("SpectralNormalization, weights changed in the forward pass")
def spectral_normalization():
    x = keras.Input((FEATURES,))
    model = keras.Model(x, layers.Dense(1)(layers.SpectralNormalization(layers.Dense(8))(x)))
    model.compile(sgd(), "mse")
    return train(model, *regression())


@case("convolutions and pooling", on=("four", "xla"))
def convolution():
    images = np.random.default_rng(6).normal(size=(50, 8, 8, 1)).astype("float32")
    model = keras.Sequential(
        [layers.Conv2D(4, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(), layers.Dense(3)]
    )
    model.compile(
        sgd(learning_rate=0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"]
    )
    return train(model, images, classes()[1])


@case("recurrent layers", on=("mirrored", "four"))
def recurrent():
    x = np.random.default_rng(6).normal(size=(50, 4, 3)).astype("float32")
    model = keras.Sequential([layers.Bidirectional(layers.GRU(3)), layers.Dense(1)])
    model.compile(sgd(), "mse")
    return train(model, x, regression()[1])


@case("recurrent layers", like_one_device=False)
def gru_with_recurrent_dropout():
    x = np.random.default_rng(6).normal(size=(50, 4, 3)).astype("float32")
    model = keras.Sequential([layers.GRU(4, recurrent_dropout=0.3, dropout=0.2), layers.Dense(1)])
    model.compile(sgd(), "mse")
    return train(model, x, regression()[1])


@case("Sequential, deferred build")
def sequential_deferred():
    model = keras.Sequential([layers.Dense(8, activation="tanh"), layers.Dense(1)])
    model.compile("adam", "mse")
    return train(model, *regression())


class Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden = layers.Dense(8, activation="tanh")
        self.out = layers.Dense(1)

    def call(self, x):
        return self.out(self.hidden(x))


@case("subclassed model, deferred build", on=("ring",))
def subclassed_deferred():
    model = Subclassed()
    model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
    outcome = train(model, *regression(), validation_data=regression(rows=21))
    return with_values(outcome, predict=model.predict(regression()[0], batch_size=16, verbose=0))


@case("evaluate and predict of a model that was never trained", known=EARLY_OPTIMIZER)
def predict_first():
    x, y = regression()
    model = mlp()
    predicted = model.predict(x, verbose=0)
    model.compile(sgd(), "mse")
    return Outcome(values={"predict": predicted, "evaluate": model.evaluate(x, y, verbose=0)}, states=(model,))
