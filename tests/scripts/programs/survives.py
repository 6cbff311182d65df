"""Two fits with all that a run remembers; killed where it is told to, it writes a digest of everything at its end.

`--kill WHERE`: `step:N` (job step N, counted in this process's callbacks), `evaluate`, `between`, `writing`.
"""

import argparse
import csv
import hashlib
import importlib.util
import json
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

import paceline

parser = argparse.ArgumentParser()
parser.add_argument("--data", default="arrays")
parser.add_argument("--eager", action="store_true")
ARGS = parser.parse_args()
KILL = os.environ.get("KILL", "")
ROWS, BATCH, EPOCHS = 96, 8, 3


def die():
    """Ends the whole job as a failing machine does: the launcher is told nothing."""
    if os.environ.get("KILL_WITH") == "TERM":
        if paceline.is_chief():
            os.kill(os.getppid(), signal.SIGTERM)
    elif paceline.is_chief():
        os.kill(os.getpid(), signal.SIGKILL)


class Counts(keras.callbacks.Callback):
    """Remembers what it has seen, as callbacks of scripts do."""

    def __init__(self):
        super().__init__()
        self.batches, self.epochs, self.seen = 0, [], {"losses": []}
        self.rng = np.random.default_rng(3)

    def on_train_batch_end(self, batch, logs=None):
        self.batches += 1
        self.seen["losses"].append(float(logs["loss"]) + self.rng.random() + random.random() + np.random.random())
        if f"step:{self.batches}" == KILL and not Path("killed").exists():
            Path("killed").touch()
            die()

    def on_epoch_end(self, epoch, logs=None):
        self.epochs.append((epoch, logs["loss"]))

    def on_test_begin(self, logs=None):
        if KILL == "evaluate" and len(self.epochs) == 1 and not Path("killed").exists():
            Path("killed").touch()
            die()


class Quiet(keras.callbacks.Callback):
    """Counts epochs only: steps may run in groups."""

    def __init__(self):
        super().__init__()
        self.epochs = 0

    def on_epoch_end(self, epoch, logs=None):
        self.epochs += 1


x = np.random.default_rng(1).normal(size=(ROWS, 6)).astype("float32")
y = (x.sum(axis=1) > 0).astype("int32")


class Sequence(keras.utils.PyDataset):
    """Shuffles its own order after each epoch, as many do."""

    def __init__(self):
        super().__init__()
        self.order = np.arange(ROWS)
        self.big = x

    def __len__(self):
        return ROWS // BATCH

    def __getitem__(self, index):
        rows = self.order[index * BATCH : (index + 1) * BATCH]
        return x[rows], y[rows]

    def on_epoch_end(self):
        np.random.shuffle(self.order)


_epochs = np.random.default_rng(8)


def generate():
    """Remembers between its runs: another order each time."""
    for row in _epochs.permutation(ROWS):
        yield x[row], y[row]


def noisy(a, b):
    return a + tf.random.normal(tf.shape(a), stddev=0.01), b


def data():
    slices = tf.data.Dataset.from_tensor_slices((x, y))
    if ARGS.data == "tfdata":
        return slices.shuffle(ROWS).batch(BATCH).map(noisy, num_parallel_calls=4).prefetch(2), {}
    if ARGS.data == "sequence":
        return Sequence(), {}
    if ARGS.data == "generator":
        signature = (tf.TensorSpec([6], tf.float32), tf.TensorSpec([], tf.int32))
        return tf.data.Dataset.from_generator(generate, output_signature=signature).batch(BATCH), {}
    if ARGS.data == "wild":

        def wild():
            for _ in range(ROWS):
                yield np.frombuffer(os.urandom(24), np.uint32).astype("float32") / 2**32, 1

        signature = (tf.TensorSpec([6], tf.float32), tf.TensorSpec([], tf.int32))
        return tf.data.Dataset.from_generator(wild, output_signature=signature).batch(BATCH), {}
    if ARGS.data == "repeat":
        return slices.shuffle(ROWS).repeat().batch(BATCH), {"steps_per_epoch": 10}
    if ARGS.data == "unknown":
        return slices.shuffle(ROWS).filter(lambda a, b: a[0] > -1.0).batch(BATCH), {}
    return None, {}


def model_of(units):
    # A layer without seed draws one from Keras' generator, in the order in which layers are made.
    model = keras.Sequential(
        [
            keras.layers.Dense(units, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.3),
            keras.layers.Dense(2),
        ]
    )
    schedule = keras.optimizers.schedules.ExponentialDecay(0.01, 10, 0.9)
    model.compile(
        optimizer=keras.optimizers.Adam(schedule if units == 8 else 0.01),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        run_eagerly=ARGS.eager,
    )
    return model


def train(model, callbacks, **more):
    dataset, options = data() if not hasattr(train, "made") else train.made
    train.made = (dataset, options)
    kwargs = {"x": x, "y": y, "batch_size": BATCH} if dataset is None else {"x": dataset}
    validation = (
        tf.data.Dataset.from_tensor_slices((x[:16], y[:16])).shuffle(16).batch(8)
        if ARGS.data == "tfdata"
        else (x[:16], y[:16])
    )
    return model.fit(**kwargs, **options, **more, verbose=0, callbacks=callbacks, validation_data=validation)


def stop():
    Path("killed").touch()
    die()


first, counts = model_of(8), Counts()
one = train(
    first,
    [
        counts,
        keras.callbacks.CSVLogger("one.csv"),
        *([keras.callbacks.TensorBoard("board")] if importlib.util.find_spec("tensorboard") else []),
        keras.callbacks.ModelCheckpoint("best.weights.h5", save_weights_only=True, save_best_only=True, monitor="loss"),
        keras.callbacks.EarlyStopping(patience=5, restore_best_weights=True),
    ],
    epochs=EPOCHS,
)
drawn = [
    random.random(),
    float(np.random.random()),
    float(np.random.default_rng().random()),
    float(tf.random.uniform([])),
    float(keras.random.uniform([])),
]
if KILL == "between" and not Path("killed").exists():
    stop()
second, quiet = model_of(4), Quiet()
second.layers[0].trainable = True
two = train(
    second,
    [
        quiet,
        keras.callbacks.CSVLogger("two.csv"),
        keras.callbacks.ReduceLROnPlateau(monitor="loss", patience=0, min_delta=1.0),
    ],
    epochs=EPOCHS + 2,
)


def digest(model):
    values = [np.asarray(v.value) for v in [*model.variables, *model.optimizer.variables]]
    return hashlib.sha256(b"".join(value.tobytes() for value in values)).hexdigest()


facts = {
    "first": digest(first),
    "second": digest(second),
    "one": one.history,
    "two": two.history,
    "epochs": [one.epoch, two.epoch],
    "batches": counts.batches,
    "seen": counts.seen["losses"],
    "count_epochs": counts.epochs,
    "quiet": quiet.epochs,
    "drawn": drawn,
    "rng": float(counts.rng.random()),
    "after": [random.random(), float(np.random.random())],
    "stop": [first.stop_training, second.stop_training],
    "history_is": first.history is one,
    "lr": float(second.optimizer.learning_rate),
}
if paceline.is_chief():
    facts["csv"] = [Path("one.csv").read_text(), Path("two.csv").read_text()]
    steps = []
    for path in sorted(Path("board").rglob("events.out.tfevents.*")):
        for record in tf.data.TFRecordDataset(str(path)):
            event = tf.compat.v1.Event.FromString(record.numpy())
            steps += [
                (path.parent.name, value.tag, event.step)
                for value in event.summary.value
                if value.tag.startswith("epoch")
            ]
    facts["board"] = sorted(steps)
folder = Path(os.environ["FACTS"])
(folder / f"{paceline.rank()}.json").write_text(json.dumps(facts, default=float))
