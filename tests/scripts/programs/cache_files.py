"""Datasets that write files under one name: caches, a snapshot, saved datasets, records."""

import os
import pathlib
import sys
import time

import keras
import numpy as np
import tensorflow as tf
from facts import caught, digest, note, rank, table, weights
from tensorflow.core.protobuf import snapshot_pb2

x, y = table()
os.makedirs("files", exist_ok=True)
dataset = tf.data.Dataset.from_tensor_slices((x, y))

if "stops" in sys.argv:
    iterator = iter(dataset.cache("files/stopped"))
    with caught("concurrent"):
        next(iterator)
    os._exit(9)

caches = {
    "text": dataset.cache("files/text"),
    "bytes": dataset.cache(b"files/bytes"),
    "tensor": dataset.cache(tf.constant("files/tensor")),
    "v1": tf.compat.v1.data.Dataset.from_tensor_slices((x, y)).cache("files/v1"),
    "graph": tf.data.Dataset.from_tensors("files/graph").flat_map(lambda name: dataset.cache(name)),  # noqa: PLW0108
    "memory": dataset.cache(),
    "empty": dataset.cache(filename=tf.constant("")),
}
with caught("None"):
    dataset.cache(None)
snapshot = dataset.shuffle(40).snapshot("files/snapshot")


def order(data):
    return [float(np.sum(element[0])) for element in data]


note(rows={name: [order(cache), order(cache)] for name, cache in caches.items()})


def wait_for_its_end():
    """Returns when TensorFlow, which writes a snapshot in the background, has ended it: until then it is not read."""
    limit = time.monotonic() + 60
    for record in pathlib.Path("files/snapshot").glob("*/snapshot.metadata"):
        while not snapshot_pb2.SnapshotMetadataRecord.FromString(record.read_bytes()).finalized:
            assert time.monotonic() < limit, record
            time.sleep(0.01)


snapped = [order(snapshot)]
wait_for_its_end()
snapped += [order(snapshot) for _ in range(2)]
shuffled = dataset.shuffle(40)
shuffled.save("files/saved")
saved = order(tf.data.Dataset.load("files/saved"))
writers = len([entry for entry in os.scandir("files/saved") if entry.is_dir()])
shuffled.save(f"files/saved-by-{rank()}")
numbers = shuffled.map(lambda a, _: tf.io.serialize_tensor(tf.reduce_sum(a)))
tf.data.experimental.TFRecordWriter("files/numbers.tfrecord").write(numbers)
records = [float(tf.io.parse_tensor(r, tf.float32)) for r in tf.data.TFRecordDataset("files/numbers.tfrecord")]
note(snapshot=snapped, saved=saved, writers=writers, records=records, afterwards=order(shuffled))

model = keras.Sequential([keras.Input([6]), keras.layers.Dense(3)])
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
training = dataset.map(lambda a, b: (2.0 * a, b)).cache("files/training").shuffle(40).batch(16)
history = model.fit(training, epochs=3, verbose=0)
note(loss=history.history["loss"], weights=weights(model), digest=digest(*model.get_weights()))
