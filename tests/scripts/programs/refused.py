"""What only one device can do, each caught; and what goes on after an error that the script caught."""

import os
import sys

import keras
import numpy as np
import tensorflow as tf
from facts import caught, digest, note, rank, table

x, labels = table()
y = x[:, :1]


def fresh(owner=keras.Sequential, optimizer="sgd", **options):
    model = owner([keras.Input([6], name="rows"), keras.layers.Dense(3, name="head")], name="small")
    model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True), **options)
    return model


# -- weights that differ at the end ---------------------------------------------------------------


class RateByLoss(keras.Sequential):
    """Sets the learning rate by the loss of its own rows."""

    def train_step(self, data):
        features, wanted = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=wanted, y_pred=self(features, training=True))
        self.optimizer.learning_rate.assign(tf.minimum(0.1, loss * 0.01))
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return {"loss": loss}


class RateByProcess(keras.callbacks.Callback):
    """Sets another learning rate in every process."""

    epochs = 0

    def on_train_batch_begin(self, batch, logs=None):
        self.model.optimizer.learning_rate = (1 + rank()) * 1e-3

    def on_epoch_end(self, epoch, logs=None):
        self.epochs += 1


class BiasByProcess(keras.callbacks.Callback):
    """Sets another bias in every process."""

    def on_epoch_end(self, epoch, logs=None):
        self.model.layers[0].bias.assign(tf.fill((3,), float(rank())))


class InfiniteLoss(keras.callbacks.Callback):
    """Spoils the weights, everywhere alike: no reason to refuse anything."""

    def on_train_begin(self, logs=None):
        self.model.layers[0].bias.assign(tf.fill((3,), np.inf))


def fit(model, *callbacks):
    model.fit(x, labels, batch_size=8, epochs=3, shuffle=False, verbose=0, callbacks=list(callbacks))


with caught("rate by loss"):
    fit(fresh(RateByLoss))
watching = RateByProcess()
with caught("rate by process"):
    fit(fresh(), watching)
note(epochs=watching.epochs)
with caught("bias by process"):
    fit(fresh(), BiasByProcess())
spoilt = fresh(optimizer="adam")
with caught("not a number"):
    fit(spoilt, InfiniteLoss())
note(spoilt=bool(np.isnan(spoilt.get_weights()[0]).all()))

# -- outputs that are no rows ---------------------------------------------------------------------


def predicted(outputs_of, **options):
    class Predicting(keras.Sequential):
        def predict_step(self, data):
            return outputs_of(self(data), data)

    return fresh(Predicting, **options).predict(x, batch_size=16, verbose=0)


OUTPUTS = {
    "a mean": lambda out, data: {"rows": out, "mean": tf.reduce_mean(out)},
    "gram": lambda out, data: tf.matmul(data, data, transpose_a=True),
    "some rows": lambda out, data: {"some": [tf.boolean_mask(out, data[:, 0] > 0)]},
}
for name, outputs_of in OUTPUTS.items():
    for eager in (False, True):
        with caught(f"{name} {'eagerly' if eager else 'compiled'}"):
            predicted(outputs_of, run_eagerly=eager)
whole = predicted(lambda out, data: {"double": data * 2, "ragged": tf.RaggedTensor.from_tensor(data)})
some = predicted(lambda out, data: {"some": tf.boolean_mask(data, data[:, 0] > 0)})["some"]
note(some_rows_are_right=np.array_equal(some, x[x[:, 0] > 0]))
with caught("pairs compiled"):
    predicted(lambda out, data: tf.matmul(data, data, transpose_b=True))
note(rows_are_right=np.array_equal(whole["double"], x * 2) and whole["ragged"].shape[0] == len(x))

# -- parts of different numbers of rows -----------------------------------------------------------


class TwoParts(keras.Sequential):
    """Learns from rows with labels and, apart from those, from some without."""

    def train_step(self, data):
        (features, wanted), others = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(y=wanted, y_pred=self(features)) + 0.1 * tf.reduce_mean(self(others) ** 2)
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return {"loss": loss}


def parts(first, other, **options):
    rows = tf.data.Dataset.from_tensor_slices
    return tf.data.Dataset.zip((rows((x, labels)).batch(first, **options), rows(x).batch(other, **options)))


with caught("parts, seen when run"):
    fresh(TwoParts).fit(parts(8, 12), verbose=0)
with caught("parts, seen when traced"):
    fresh(TwoParts).fit(parts(8, 12, drop_remainder=True), verbose=0)
with caught("parts, eagerly"):
    fresh(TwoParts, run_eagerly=True).fit(parts(8, 12), verbose=0)


class MakesRows(TwoParts):
    """Does what the refusal says."""

    def train_step(self, data):
        labelled, part = data
        # Not by the name of a metric: Keras would show that instead.
        return {"of_all": super().train_step((labelled, tf.reshape(part, [-1, *part.shape[2:]])))["loss"]}


rows = tf.data.Dataset.from_tensor_slices
mended = tf.data.Dataset.zip((rows((x[:8], labels[:8])).batch(8), rows(x[:24]).batch(3).batch(8)))
with caught("parts, not made rows"):
    fresh(TwoParts).fit(mended, verbose=0)
making = fresh(MakesRows)
losses = keras.losses.sparse_categorical_crossentropy(labels[:8], making(x[:8]), from_logits=True)
whole_loss = tf.reduce_mean(losses) + 0.1 * tf.reduce_mean(making(x[:24]) ** 2)
note(mended_loss=[making.fit(mended, verbose=0).history["of_all"][0], float(whole_loss)])

# -- a fit after one that failed ------------------------------------------------------------------


class Deferred(keras.Model):
    """Has no variables before its first step."""

    def __init__(self):
        super().__init__()
        self.head = keras.layers.Dense(1, kernel_initializer=keras.initializers.GlorotUniform(3))

    def call(self, features):
        return self.head(features)


again = Deferred()
again.compile("adam", "mse")
with caught("a wrong shape"):
    again.fit(x, np.zeros([40, 3, 2, 5], "float32"), batch_size=8, verbose=0)
again.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0)
first = Deferred()
first.compile("adam", "mse")
first.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0)
note(as_if_first=np.allclose(again.get_weights()[0], first.get_weights()[0], rtol=1e-5, atol=1e-6))
flat = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(1)])
flat.compile("sgd", "mse")
for name in ("no features", "no features, then some"):
    with caught(name):
        flat.fit(x[:, 0] if name == "no features" else x, y, batch_size=8, verbose=0)
note(digest=digest(*again.get_weights(), *first.get_weights()), process=os.getpid())

if "uncaught" in sys.argv:
    fit(fresh(RateByLoss))
note(reached_the_end=True)
