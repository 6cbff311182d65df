"""A script for one device: no strategy, random data that nobody seeded, `input_shape=`, a smaller last batch."""

import random

import keras
import numpy as np
import tensorflow as tf
from facts import digest, note, weights

keras.backend.clear_session()
x = np.random.randn(50, 8).astype("float32")
fresh = np.random.default_rng().normal(size=(50, 2)).astype("float32")
legacy = np.random.RandomState().rand(3)
noise = tf.random.normal([50, 2]).numpy()
kernel = keras.random.normal([4]).numpy() if hasattr(keras.random.normal([4]), "numpy") else None
order = random.sample(range(50), 50)
features = np.concatenate([x, fresh, noise], axis=1)[order]
y = np.random.randint(0, 3, size=(50,))
rows = []


@keras.saving.register_keras_serializable()
class Counting(keras.layers.Layer):
    """Counts the rows that pass through this process."""

    def call(self, inputs, training=False):
        if training:
            tf.numpy_function(lambda n: rows.append(int(n)) or np.int32(0), [tf.shape(inputs)[0]], tf.int32)
        return tf.identity(inputs)

    def compute_output_shape(self, input_shape):
        return input_shape


model = keras.Sequential(
    [
        keras.layers.Dense(16, activation="relu", input_shape=(12,)),
        Counting(),
        keras.layers.Dense(3, activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
dataset = tf.data.Dataset.from_tensor_slices((features, y)).shuffle(50).batch(16).prefetch(tf.data.AUTOTUNE)
first = weights(model)
history = model.fit(dataset, epochs=2, verbose=1)
again = model.fit(features, y, batch_size=16, epochs=1, verbose=0)
note(
    data=digest(features, y), drawn=[digest(x), digest(fresh), digest(noise), digest(legacy), str(order)],
    kernel=None if kernel is None else kernel.tolist(),
    begun=first, weights=weights(model), digest=digest(*model.get_weights()),
    logs=history.history, again=again.history, rows=rows, steps=int(model.optimizer.iterations),
    predicted=digest(model.predict(features, verbose=0)), evaluated=model.evaluate(features, y, verbose=0),
)  # fmt: skip
