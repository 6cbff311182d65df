"""Steps that use the script's own batch size, of which a replica has some rows; and errors that are others."""

import keras
import numpy as np
import tensorflow as tf
from facts import note

BATCH = 16
x, y = np.ones([64, 6], "float32"), np.ones([64, 3], "float32")


class Model(keras.Model):
    def __init__(self):
        super().__init__()
        self.head = keras.layers.Dense(3)
        self.head.build([None, 6])

    def call(self, x):
        return self.head(x)


class Reshapes(Model):
    def call(self, x):
        return tf.reshape(self.head(x), [BATCH, 3, -1])[:, :, 0]


class Generates(Model):
    """Tells rows from what it makes of noise, as examples of GANs do."""

    def train_step(self, data):
        made = self(tf.random.normal([BATCH, 6]))
        labels = tf.concat([tf.ones([BATCH, 1]), tf.zeros([BATCH, 1])], 0)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.concat([self(data[0]), made], 0) - labels) ** 2)
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return {"loss": loss}


def weighs(y, outputs):
    return tf.reduce_mean(tf.square(y - outputs) * tf.ones([BATCH, 1]))


def is_of_columns(y, outputs):
    return tf.reduce_mean(tf.matmul(outputs, tf.ones([5, BATCH])))


def compiled(kind=Reshapes, loss="mse", **options):
    model = kind()
    model.compile("sgd", loss, **options)
    return model


def batches(**options):
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH, **options)


CASES = {
    "fit, run": lambda: compiled().fit(batches(), verbose=0),
    "fit, traced": lambda: compiled().fit(batches(drop_remainder=True), verbose=0),
    "fit, eagerly": lambda: compiled(run_eagerly=True).fit(x, y, batch_size=BATCH, verbose=0),
    "fit, XLA": lambda: compiled(jit_compile=True).fit(batches(), verbose=0),
    "train_step, run": lambda: compiled(Generates).fit(batches(), verbose=0),
    "train_step, traced": lambda: compiled(Generates).fit(batches(drop_remainder=True), verbose=0),
    "evaluate": lambda: compiled(Model, weighs).evaluate(batches(), verbose=0),
    "predict": lambda: compiled().predict(batches(), verbose=0),
    "train_on_batch": lambda: compiled().train_on_batch(x[:BATCH], y[:BATCH]),
    "another error": lambda: compiled(Model, is_of_columns).evaluate(batches(), verbose=0),
}
for name, case in CASES.items():
    try:
        case()
    except Exception as error:
        note(**{name: [type(error).__name__, str(error), getattr(error, "__notes__", [])]})
compiled().evaluate(batches(), verbose=0)
