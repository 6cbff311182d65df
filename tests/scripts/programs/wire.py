"""A thousand steps, whose gradients travel as the command line says; and sums of 16-bit numbers by themselves."""

import keras
import numpy as np
import tensorflow as tf
from facts import digest, note, rank, table, weights

import paceline


def train():
    x, y = table(rows=640)
    model = keras.Sequential(
        [keras.Input((6,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(3, activation="softmax")]
    )
    model.compile(keras.optimizers.Adam(0.003), "sparse_categorical_crossentropy")
    history = model.fit(x, y, batch_size=64, epochs=100, verbose=0)
    note(
        steps=int(model.optimizer.iterations),
        losses=history.history["loss"],
        weights=weights(model),
        digest=digest(*model.get_weights(), *[v.numpy() for v in model.optimizer.variables]),
    )


def sums():
    """Sums what all workers hold; each works out for itself what is right."""
    transport = getattr(paceline.strategy(), "transport", None)
    if transport is None or transport.size == 1:
        return
    for dtype in (tf.float16, tf.bfloat16):
        for size in (1, 5, 1000):
            parts = [np.random.default_rng(10 * r + size).normal(size=size) for r in range(transport.size)]
            parts = [tf.cast(part, dtype) for part in parts]
            total = transport.all_reduce(parts[rank()])
            right = tf.cast(tf.add_n([tf.cast(part, tf.float32) for part in parts]), dtype)
            largest = float(tf.reduce_max(tf.abs(tf.cast(total, tf.float32) - tf.cast(right, tf.float32))))
            note(**{f"{dtype.name} {size}": [total.dtype == dtype, largest]})


train()
sums()
