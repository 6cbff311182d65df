"""One fit for each kind of data that its arguments name; with `KILL`, each is ended in its second epoch, once.

`KILL=2`: in its third epoch too.
"""

import hashlib
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

import paceline

ROWS, BATCH = 48, 8
KILL = int(os.environ.get("KILL", "0"))
EPOCHS = 1 + max(KILL, 1) if KILL else int(os.environ.get("EPOCHS", "2"))
x = np.random.default_rng(1).normal(size=(ROWS, 4)).astype("float32")
y = x.sum(axis=1, keepdims=True)


class Ends(keras.callbacks.Callback):
    def __init__(self, name):
        super().__init__()
        self.name, self.batches = name, 0

    def on_train_batch_end(self, batch, logs=None):
        self.batches += 1
        mark = Path(f"killed-{self.name}-{self.batches}")
        # With several steps in a call there is a hook for each call.
        wanted = [(place + 1) // (2 if self.name == "several" else 1) for place in (9, 15)][:KILL]
        if paceline.is_chief() and self.batches in wanted and not mark.exists():
            mark.touch()
            time.sleep(0.3)
            while list(Path("ck").glob(".tmp-*")):  # the checkpoint of this epoch is the one to come back to
                time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGKILL)


class Draws(keras.layers.Layer):
    def call(self, inputs, training=False):
        return inputs + tf.random.normal(tf.shape(inputs)) if training else inputs


class Rows(keras.utils.PyDataset):
    """Shuffles its own order after each epoch, as many do."""

    def __init__(self, draws=False):
        super().__init__()
        self.order, self.draws = np.arange(ROWS), draws

    def __len__(self):
        return ROWS // BATCH

    def __getitem__(self, index):
        rows = self.order[index * BATCH : (index + 1) * BATCH]
        return x[rows] + (np.random.normal(size=(len(rows), 4)) if self.draws else 0.0), y[rows]

    def on_epoch_end(self):
        np.random.shuffle(self.order)


orders = np.random.default_rng(8)
SIGNATURE = (tf.TensorSpec([4], tf.float32), tf.TensorSpec([1], tf.float32))


def remembers():
    for row in orders.permutation(ROWS):
        yield x[row], y[row]


def wild():
    for _ in range(ROWS):
        yield np.frombuffer(os.urandom(16), np.uint32).astype("float32") / 2**32, np.ones(1, "float32")


def endless():
    while True:
        rows = np.random.permutation(ROWS)[:BATCH]
        yield x[rows], y[rows]


slices = tf.data.Dataset.from_tensor_slices((x, y))
KINDS = {
    "arrays": lambda: ({"x": x, "y": y, "batch_size": BATCH}, {}),
    "chunks": lambda: ({"x": x, "y": y, "batch_size": BATCH, "shuffle": "batch"}, {}),
    "rows": lambda: ({"x": Rows()}, {}),
    "noisy_rows": lambda: ({"x": Rows(draws=True)}, {}),
    "repeat": lambda: ({"x": slices.shuffle(ROWS).repeat().batch(BATCH)}, {"steps_per_epoch": 7}),
    "unknown": lambda: ({"x": slices.shuffle(ROWS).filter(lambda a, b: a[0] > -9.0).batch(BATCH).prefetch(2)}, {}),
    "remembers": lambda: (
        {"x": tf.data.Dataset.from_generator(remembers, output_signature=SIGNATURE).batch(BATCH)},
        {},
    ),
    "endless": lambda: ({"x": endless()}, {"steps_per_epoch": 7}),
    "wild": lambda: ({"x": tf.data.Dataset.from_generator(wild, output_signature=SIGNATURE).batch(BATCH)}, {}),
    "several": lambda: ({"x": x, "y": y, "batch_size": BATCH}, {}),
    "drawing": lambda: ({"x": x, "y": y, "batch_size": BATCH}, {}),
    "plain": lambda: ({"x": x, "y": y, "batch_size": BATCH}, {}),
    "eager": lambda: ({"x": x, "y": y, "batch_size": BATCH}, {}),
}
facts = {}
for name in sys.argv[1:]:
    data, options = KINDS[name]()
    model = keras.Sequential(
        [
            keras.layers.Dense(4, activation="relu"),
            keras.layers.Dropout(0.0 if name == "plain" else 0.2),
            keras.layers.Dense(1),
        ]
    )
    if name == "drawing":
        model.add(Draws())
    model.compile(
        "adam", "mse", run_eagerly=name == "eager", jit_compile=False, steps_per_execution=2 if name == "several" else 1
    )
    ends = Ends(name)
    history = model.fit(**data, **options, epochs=EPOCHS, verbose=0, callbacks=[ends])
    weights = b"".join(keras.ops.convert_to_numpy(v).tobytes() for v in [*model.variables, *model.optimizer.variables])
    facts[name] = [hashlib.sha256(weights).hexdigest(), history.history, history.epoch, ends.batches, random.random()]
Path(os.environ["FACTS"], f"{paceline.rank()}.json").write_text(json.dumps(facts, default=float))
