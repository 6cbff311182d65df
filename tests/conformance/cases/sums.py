"""Losses that are sums over rows, not means; gradients of inputs and of gradients: found in the graph of a step."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from cases.steps import RawScalar
from cases.table import FEATURES, Outcome, case, mlp, regression, sgd

layers = keras.layers


def _fits(models, data=None, **options):
    """Fits each model by name; returns what is compared."""
    x, y = data or regression()
    values = {}
    for name, model in models.items():
        values[name] = model.fit(x, y, batch_size=16, epochs=2, shuffle=False, verbose=0, **options).history
        values[f"{name} evaluate"] = model.evaluate(x[:21], y[:21], batch_size=8, verbose=0)
    return Outcome(values=values, states=tuple(models.values()))


class SumOfErrors(keras.Sequential):
    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        return 0.05 * ops.sum(ops.square(y - y_pred))


class Adds(layers.Layer):
    def __init__(self, what):
        super().__init__()
        self.what = what

    def call(self, x):
        self.add_loss(self.what(0.01 * ops.square(x)))
        return x


def _compiled(model, loss="mse"):
    model.compile(sgd(learning_rate=0.01), loss)
    return model


def _layers(*between):
    return [keras.Input((FEATURES,)), layers.Dense(8, activation="tanh"), *between, layers.Dense(1)]


class SumOfItsOwn(keras.losses.Loss):
    """Without Keras' reduction, as the published contrastive losses are."""

    def __call__(self, y_true, y_pred, sample_weight=None):
        return 0.05 * ops.sum(ops.square(y_true - y_pred))


@case("losses that are sums over rows", on=("core",))
def losses_are_sums():
    return _fits({
        "function": _compiled(mlp(), lambda y, p: 0.05 * ops.sum(ops.square(y - p))),
        "add_loss": _compiled(keras.Sequential(_layers(Adds(ops.sum)))),
    })  # fmt: skip


@case("losses that are sums over rows")
def other_losses_are_sums():
    return _fits({
        "__call__": _compiled(mlp(), SumOfItsOwn()),
        "none": _compiled(mlp(), keras.losses.MeanSquaredError(reduction="none")),
        "compute_loss": _compiled(SumOfErrors(_layers())),
        "add_loss of a tensor": _compiled(keras.Sequential(_layers(Adds(lambda x: x)))),
    })  # fmt: skip


class Own(RawScalar):
    """Its loss, and how it comes by its gradients, are given."""

    def __init__(self, loss=None, gradients=None):
        super().__init__()
        self.hidden = layers.Dense(8, activation="tanh")
        self.loss_of = loss or (lambda y, p: tf.reduce_mean(tf.square(y - p)))
        self.gradients_of = gradients or _of_weights
        self.hidden.build((None, FEATURES))
        self.dense.build((None, 8))

    def call(self, x):
        return self.dense(self.hidden(x))

    def train_step(self, data):
        loss, gradients = self.gradients_of(self, *data)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        self.loss_tracker.update_state(loss)
        return {"loss": self.loss_tracker.result(), "last": tf.reduce_mean(loss)}


def _of_weights(model, x, y):
    with tf.GradientTape() as tape:
        loss = model.loss_of(y, model(x, training=True))
    return loss, tape.gradient(loss, model.trainable_variables)


def _sums(y, p):
    return 0.05 * tf.reduce_sum(tf.square(y - p))


KERAS_SUM = keras.losses.MeanSquaredError(reduction="sum")


def _by_row(y, p):
    return 0.05 * tf.reduce_sum(tf.square(y - p), axis=-1)


def _own_losses(**losses):
    models = {name: Own(loss) for name, loss in losses.items()}
    for model in models.values():
        model.compile(sgd(learning_rate=0.01))
    return _fits(models)


@case("custom train_step, losses that are sums", on=("core", "ring"))
def train_step_sums():
    return _own_losses(sum=_sums, average=lambda y, p: tf.nn.compute_average_loss(_by_row(y, p)))


@case("custom train_step, losses that are sums")
def train_step_other_sums():
    losses = {
        "by row": _by_row,
        "of a batch's size": lambda y, p: tf.nn.compute_average_loss(_by_row(y, p), global_batch_size=16),
        "by hand": lambda y, p: _sums(y, p) / tf.cast(tf.shape(p)[0], tf.float32),
        "Keras by hand": lambda y, p: KERAS_SUM(y, p) / tf.cast(tf.shape(p)[0], tf.float32),
        "__call__": SumOfItsOwn(),
        "weights too": lambda y, p: tf.reduce_mean(tf.square(y - p)) + tf.nn.scale_regularization_loss(0.1),
    }
    return _own_losses(**losses)


class ReadsLossesAgain(Own):
    """Reads `losses` once more where its gradient is there, for a log."""

    def __init__(self):
        super().__init__(lambda y, p: tf.reduce_mean(tf.square(y - p)) + sum(self.hidden.losses))
        self.hidden = keras.Sequential([layers.Dense(8, activation="tanh"), Adds(ops.mean)])
        self.hidden.build((None, FEATURES))
        self.after = keras.metrics.Mean(name="after")

    def train_step(self, data):
        logs = super().train_step(data)
        self.after.update_state(sum(self.hidden.losses))
        return {**logs, "after": self.after.result()}


@case("custom train_step that reads losses again", on=("core",))
def losses_read_again():
    model = ReadsLossesAgain()
    model.compile(sgd(learning_rate=0.01))
    return _fits({"model": model})


def _adversarial(model, x, y):
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = model.loss_of(y, model(x))
    return _of_weights(model, x + 5.0 * tape.gradient(loss, x), y)


def _flat(model, x, y):
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            inner.watch(x)
            loss = model.loss_of(y, model(x))
        slope = inner.gradient(loss, x)
        loss += 10.0 * tf.reduce_mean(tf.reduce_sum(tf.square(slope), axis=1))
    return loss, outer.gradient(loss, model.trainable_variables)


def _of_slopes(model, x, y):
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            loss = model.loss_of(y, model(x))
        slopes = inner.gradient(loss, model.trainable_variables)
        loss += 0.1 * tf.add_n([tf.reduce_sum(tf.square(slope)) for slope in slopes])
    return loss, outer.gradient(loss, model.trainable_variables)


def _lipschitz(model, x, y):
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            inner.watch(x)
            predicted = model(x)
        norm = tf.sqrt(tf.reduce_sum(tf.square(inner.gradient(predicted, x)), axis=1) + 1e-6)
        loss = model.loss_of(y, predicted) + tf.reduce_mean(tf.square(norm - 1.0))
    return loss, outer.gradient(loss, model.trainable_variables)


def _own_gradients(**ways):
    models = {name: Own(gradients=way) for name, way in ways.items()}
    for model in models.values():
        model.compile(sgd(learning_rate=0.01))
    return _fits(models)


@case("custom train_step, gradients of inputs and of gradients", on=("core", "ring"))
def train_step_of_slopes():
    return _own_gradients(flat=_flat, slopes=_of_slopes)


@case("custom train_step, gradients of inputs and of gradients")
def train_step_of_other_slopes():
    return _own_gradients(adversarial=_adversarial, lipschitz=_lipschitz)


class Positions(layers.Layer):
    """Adds an embedding of the words and one of their places, as the Keras guides have it."""

    def __init__(self):
        super().__init__()
        self.words, self.places = layers.Embedding(11, 4), layers.Embedding(7, 4)

    def call(self, x):
        return self.words(x) + self.places(ops.arange(0, ops.shape(x)[-1]))


def _sentences(optimizer):
    model = keras.Sequential(
        [keras.Input((7,)), Positions(), layers.Dense(4, activation="tanh"), layers.Flatten(), layers.Dense(1)]
    )
    model.compile(optimizer, "mse")
    return model


def _fit_sentences(optimizer, **options):
    words = np.random.default_rng(2).integers(0, 11, size=(50, 7)).astype("int32")
    model = _sentences(optimizer)
    for name, value in options.items():
        setattr(model, name, value)
    return _fits({"model": model}, (words, words.sum(axis=1, keepdims=True) / 30.0))


# Keras squares, and clips, the slices of a gradient one by one: a place that each replica has looked up must be one.
@case("position embeddings", on=("core", "ring", "xla"))
def position_embeddings():
    return _fit_sentences(keras.optimizers.Adam(0.02))


@case("position embeddings")
def position_embeddings_clipped():
    return _fit_sentences(keras.optimizers.SGD(0.1, global_clipnorm=0.05))


@case("position embeddings")
def position_embeddings_eager():
    return _fit_sentences(keras.optimizers.RMSprop(0.01), run_eagerly=True)
