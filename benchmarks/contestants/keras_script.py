"""The script that paceline runs, and that plain Keras runs on one process: no strategy in it.

Its input is the article's: rows in memory, batched and prefetched by tf.data. `BENCH_WORKERS` makes the batch larger,
as a person would who runs it on more workers.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import keras
import models
import tensorflow as tf
import workload

size = int(os.environ.get("BENCH_WORKERS", "1"))
x, y = workload.data(size)
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(workload.ROWS_A_WORKER * size, drop_remainder=True)
data = data.prefetch(tf.data.AUTOTUNE)
model = models.compiled(keras, workload.MODEL)
clock = workload.Clock(size)
callback = keras.callbacks.LambdaCallback(on_epoch_end=clock.epoch)
model.fit(data, epochs=workload.EPOCHS, verbose=1, callbacks=[callback])
clock.report(rank=0)
