"""Keras 3 `fit` on JAX with `keras.distribution.DataParallel` over processes, what Keras' maintainers recommend.

Usage: python keras_jax.py RANK SIZE PORT
"""

import os

import workload

rank, size, port = workload.arguments()
workload.one_core(rank)
os.environ["KERAS_BACKEND"] = "jax"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
import jax

if size > 1:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{port}", size, rank)
import keras

if size > 1:
    keras.distribution.set_distribution(
        keras.distribution.DataParallel(devices=jax.devices(), auto_shard_dataset=False)
    )
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
x, y = workload.data(size)
# each process feeds its own rows
x, y = x[rank::size], y[rank::size]
clock = workload.Clock(size)
callback = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: clock.epoch())
model.fit(
    x, y, batch_size=workload.ROWS_A_WORKER, epochs=workload.EPOCHS, verbose=1 if rank == 0 else 0, callbacks=[callback]
)
clock.report(rank)
