"""The script that paceline runs, and that plain Keras runs on one process: no strategy in it."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import workload

size = int(os.environ.get("BENCH_WORKERS", "1"))
rank = int(os.environ.get("PACELINE_RANK", "0"))
if "PACELINE_JOB" not in os.environ:
    workload.one_core(0)
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")

import keras

x, y = workload.data(size)
model = keras.Sequential(
    [
        keras.Input((784,)),
        keras.layers.Dense(256, activation="relu"),
        keras.layers.BatchNormalization(),
        keras.layers.Dense(128, activation="relu"),
        keras.layers.BatchNormalization(),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
clock = workload.Clock(size)
callback = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: clock.epoch())
if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(workload.ROWS_A_WORKER * size, drop_remainder=True)
    data = data.prefetch(tf.data.AUTOTUNE)
    model.fit(data, epochs=workload.EPOCHS, verbose=1, callbacks=[callback])
else:
    model.fit(x, y, batch_size=workload.ROWS_A_WORKER * size, epochs=workload.EPOCHS, verbose=1, callbacks=[callback])
clock.report(rank)
