"""A script that writes down its resident memory after each epoch; every worker prints its own."""

import gc
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import keras
import models
import tensorflow as tf
import workload

size = int(os.environ.get("BENCH_WORKERS", "1"))
resident = []


def read_memory(epoch, logs):
    gc.collect()
    with open("/proc/self/statm") as file:
        resident.append(int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"))


data = tf.data.Dataset.from_tensor_slices(workload.data(size))
data = data.batch(workload.ROWS_A_WORKER * size).prefetch(tf.data.AUTOTUNE)
model = models.compiled(keras, workload.MODEL)
callback = keras.callbacks.LambdaCallback(on_epoch_end=read_memory)
model.fit(data, epochs=workload.EPOCHS, verbose=0, callbacks=[callback])
print("\nRESULT " + json.dumps({"resident_bytes": resident}), flush=True)
