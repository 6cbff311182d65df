"""An own loop whose workers begin with different weights, because each seeds itself."""

import os

import facts
import keras
import numpy as np
import tensorflow as tf

import paceline

strategy = paceline.strategy()
keras.utils.set_random_seed(int(os.environ.get("PACELINE_RANK", "0")))
model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(1)])
model.build((None, 8))
optimizer = keras.optimizers.Adam(0.01)
batches = tf.data.Dataset.from_tensor_slices(np.ones((64, 8), "float32")).batch(16)


@tf.function
def step(rows):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(model(rows) - 1.0)) / 16
    optimizer.apply_gradients(
        zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
    )
    return loss


for rows in strategy.experimental_distribute_dataset(batches):
    strategy.run(step, args=(rows,))
facts.note(weights=facts.digest(*model.weights))
