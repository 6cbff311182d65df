"""Keras 3 `fit` on JAX with `keras.distribution.DataParallel` over processes, what Keras' maintainers recommend.

Usage: python keras_jax.py RANK SIZE PORT
"""

import os

import workload

rank, size, port = workload.arguments()
os.environ["KERAS_BACKEND"] = "jax"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
import jax

if size > 1:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"127.0.0.1:{port}", size, rank)
import keras
import models

if size > 1:
    keras.distribution.set_distribution(
        keras.distribution.DataParallel(devices=jax.devices(), auto_shard_dataset=False)
    )
# every process must begin with the same weights
keras.utils.set_random_seed(0)
model = models.compiled(keras, workload.MODEL, steps_per_execution=workload.STEPS_PER_EXECUTION)
x, y = workload.own_data(rank, size)
x, y = x.reshape(-1, *x.shape[2:]), y.reshape(-1)
clock = workload.Clock(size)
callback = keras.callbacks.LambdaCallback(on_epoch_end=clock.epoch)
# each process hands in its own rows, as arrays in memory, in their order
model.fit(
    x,
    y,
    batch_size=workload.ROWS_A_WORKER,
    epochs=workload.EPOCHS,
    shuffle=False,
    verbose=1 if rank == 0 else 0,
    callbacks=[callback],
)
clock.report(rank)
