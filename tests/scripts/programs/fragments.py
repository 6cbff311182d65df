"""NcclAllReduce asked for, a TFRecord pipeline, mixed precision with clipnorm, and the profiler, in one program.

The first argument is a folder: of the article, whose own fragments run then, or of this file.
"""

import os
import pathlib
import runpy
import sys

import keras
import numpy as np
import tensorflow as tf
from facts import digest, note, table

folder = pathlib.Path(sys.argv[1])


def own_pipeline(pattern, batch_size):
    files = tf.data.Dataset.list_files(pattern)
    dataset = files.interleave(tf.data.TFRecordDataset, cycle_length=8, num_parallel_calls=tf.data.AUTOTUNE)
    return dataset.shuffle(10000).batch(batch_size).prefetch(tf.data.AUTOTUNE)


if (folder / "communication.py").exists():
    strategy = runpy.run_path(str(folder / "communication.py"))["strategy"]
    pipeline = runpy.run_path(str(folder / "input_pipeline.py"))["build_input_pipeline"]
else:
    os.environ["TF_CPP_VLOG_LEVEL"] = "1"
    strategy = tf.distribute.MirroredStrategy(cross_device_ops=tf.distribute.NcclAllReduce())
    pipeline = own_pipeline

x, y = table()
for part in range(4):
    path = f"part-{part}-{os.environ.get('PACELINE_RANK', '0')}.tfrecord"
    with tf.io.TFRecordWriter(path) as writer:
        for features, label in zip(x[part::4], y[part::4], strict=True):
            example = tf.train.Example()
            example.features.feature["x"].float_list.value.extend(features)
            example.features.feature["y"].int64_list.value.append(label)
            writer.write(example.SerializeToString())


def parse(records):
    spec = {"x": tf.io.FixedLenFeature([6], tf.float32), "y": tf.io.FixedLenFeature([], tf.int64)}
    parsed = tf.io.parse_example(records, spec)
    return parsed["x"], tf.one_hot(parsed["y"], 3)


keras.mixed_precision.set_global_policy("mixed_float16")


def create_model():
    return keras.Sequential([keras.Input([6]), keras.layers.Dense(8, "relu"), keras.layers.Dense(3, dtype="float32")])


if (folder / "mixed_precision.py").exists():
    scope = {"tf": tf, "strategy": strategy, "create_model": create_model}
    exec(compile((folder / "mixed_precision.py").read_text(), "mixed_precision.py", "exec"), scope)
    model = scope["model"]
else:
    with strategy.scope():
        model = create_model()
        model.compile(optimizer=keras.optimizers.Adam(clipnorm=1.0), loss="mse")
# The order of the elements of a job must not depend on how many workers write them: one file name for each worker.
mine = f"part-*-{os.environ.get('PACELINE_RANK', '0')}.tfrecord"
dataset = pipeline(mine, 20).map(parse)
tf.profiler.experimental.start("logdir")
history = model.fit(dataset, epochs=2, verbose=0)
tf.profiler.experimental.stop()
note(
    replicas=strategy.num_replicas_in_sync, policy=keras.mixed_precision.global_policy().name,
    losses=history.history["loss"], steps=int(model.optimizer.iterations), digest=digest(*model.get_weights()),
)  # fmt: skip
assert np.isfinite(history.history["loss"]).all()
