"""Keras 3 `fit` under MultiWorkerMirroredStrategy with nothing but the two lines that make it run at all.

Usage: python keras_mwms.py RANK SIZE PORT; `LEGACY=1` uses tf_keras, `STEPS_PER_EXECUTION=n` sets that.
"""

import json
import os

import workload

rank, size, port = workload.arguments()
workload.one_core(rank)
os.environ["TF_NUM_INTRAOP_THREADS"] = "1"
os.environ["TF_CONFIG"] = json.dumps(
    {"cluster": {"worker": [f"127.0.0.1:{port + i}" for i in range(size)]}, "task": {"type": "worker", "index": rank}}
)
import tensorflow as tf

legacy = os.environ.get("LEGACY") == "1"
if legacy:
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
    model = keras.Sequential(
        [
            keras.layers.Input((784,)),
            keras.layers.Dense(256, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(128, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )
    steps = int(os.environ.get("STEPS_PER_EXECUTION", "1"))
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"], steps_per_execution=steps)
x, y = workload.data(size)
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(workload.ROWS_A_WORKER * size, drop_remainder=True).repeat()
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
data = data.with_options(options).prefetch(tf.data.AUTOTUNE)
clock = workload.Clock(size)
callback = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: clock.epoch())
model.fit(
    data, epochs=workload.EPOCHS, steps_per_epoch=workload.STEPS, verbose=1 if rank == 0 else 0, callbacks=[callback]
)
clock.report(rank)
