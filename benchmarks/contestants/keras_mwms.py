"""`fit` under MultiWorkerMirroredStrategy: Keras 3 with nothing but the two lines that make it run at all, or tf_keras.

Usage: python keras_mwms.py RANK SIZE PORT; `BENCH_LEGACY=1` uses tf_keras.

At its best: each worker hands in its own rows as ready batches, and the data never end, which saves one all-reduce a
step (on finite data the workers ask each other in every step whether somebody has any left).
"""

import json
import os

import workload

rank, size, port = workload.arguments()
os.environ["TF_NUM_INTRAOP_THREADS"] = "1"
os.environ["TF_CONFIG"] = json.dumps(
    {"cluster": {"worker": [f"127.0.0.1:{port + i}" for i in range(size)]}, "task": {"type": "worker", "index": rank}}
)
import models
import tensorflow as tf

if os.environ.get("BENCH_LEGACY") == "1":
    import tf_keras as keras
else:
    import keras
    from keras.src.backend.tensorflow import trainer

    # the two-line repair: no reduction of the first batch, scalar logs without an axis
    trainer.TensorFlowTrainer._maybe_symbolic_build = lambda self, iterator=None, data_batch=None: None
    trainer.reduce_per_replica = lambda values, strategy, reduction: tf.nest.map_structure(
        lambda v: strategy.reduce("MEAN", v, axis=None), values
    )

strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = models.compiled(keras, workload.MODEL, steps_per_execution=workload.STEPS_PER_EXECUTION)
batches = workload.own_data(rank, size)
data = tf.data.Dataset.from_tensor_slices(batches).repeat().prefetch(tf.data.AUTOTUNE)
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
data = data.with_options(options)
clock = workload.Clock(size)
callback = keras.callbacks.LambdaCallback(on_epoch_end=clock.epoch)
model.fit(
    strategy.distribute_datasets_from_function(lambda context: data),
    epochs=workload.EPOCHS,
    steps_per_epoch=workload.STEPS,
    verbose=1 if rank == 0 else 0,
    callbacks=[callback],
)
clock.report(rank)
