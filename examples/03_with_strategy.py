"""03: the same model, with the job's strategy in hand: for a loop of your own, or to know who you are.

paceline run examples/03_with_strategy.py --workers 2
python examples/03_with_strategy.py
"""

import keras
import numpy as np
import tensorflow as tf

import paceline

strategy = paceline.strategy()
global_batch_size = 100

x = np.random.randn(2000, 20).astype(np.float32)
y = (x[:, :10].sum(axis=1) > x[:, 10:].sum(axis=1)).astype(np.float32)[:, np.newaxis]
batches = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(2000).batch(global_batch_size)

with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(1)])
    model.build((None, 20))
    optimizer = keras.optimizers.Adam()
    accuracy = keras.metrics.BinaryAccuracy(threshold=0.0)


@tf.function
def train_step(batch_x, batch_y):
    """One replica's part of a step: gradients are summed over replicas, so the loss is divided by the global batch."""
    with tf.GradientTape() as tape:
        logits = model(batch_x, training=True)
        losses = tf.nn.sigmoid_cross_entropy_with_logits(batch_y, logits)
        loss = tf.reduce_sum(losses) / global_batch_size
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    accuracy.update_state(batch_y, logits)
    return loss


for epoch in range(3):
    accuracy.reset_state()
    total = 0.0
    for batch_x, batch_y in strategy.experimental_distribute_dataset(batches):
        loss = strategy.run(train_step, args=(batch_x, batch_y))
        total += float(strategy.reduce("SUM", loss, axis=None))
    if paceline.is_chief():
        print(f"epoch {epoch}: loss {total / 20:.4f}, accuracy {float(accuracy.result()):.3f}")
