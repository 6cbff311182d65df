"""Two fits, with all that a run remembers: killed where it is told to, it writes down everything at its end.

`KILLS` names places, in order, with commas: `batch:N` (the first fit's N-th batch), `evaluate`, `between` the fits,
`second:N` (epoch N of the second fit, in the middle of a group), `writing` (a checkpoint). Each is come to once;
with `:TERM` behind it, the launcher is told to end instead of the chief being killed.
"""

import hashlib
import importlib.util
import json
import os
import random
import signal
import time
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

import paceline

ROWS, BATCH = 96, 8
KILLS = [place for place in os.environ.get("KILLS", "").split(",") if place]


def here(place):
    """Ends the job if it is to end here, as it has not yet."""
    for number, wanted in enumerate(KILLS):
        mark = Path(f"killed-{number}-{paceline.rank()}")
        if mark.exists():
            continue
        if wanted.removesuffix(":TERM") == place:
            mark.touch()
            time.sleep(0.3)
            while paceline.is_chief() and list(Path("ck").glob(".tmp-*")):  # this place's checkpoint is to be there
                time.sleep(0.05)
            if paceline.is_chief() and wanted.endswith(":TERM"):
                os.kill(os.getppid(), signal.SIGTERM)
            elif paceline.is_chief():
                os.kill(os.getpid(), signal.SIGKILL)
            if wanted.endswith(":TERM"):
                time.sleep(2)  # until the launcher has passed it on
        return


class Counts(keras.callbacks.Callback):
    """Remembers what it has seen, as callbacks of scripts do."""

    def __init__(self):
        super().__init__()
        self.batches, self.epochs, self.seen = 0, [], {"draws": []}
        self.rng = np.random.default_rng(3)

    def on_train_batch_end(self, batch, logs=None):
        self.batches += 1
        self.seen["draws"].append([float(logs["loss"]), self.rng.random(), random.random(), np.random.random()])
        here(f"batch:{self.batches}")

    def on_epoch_end(self, epoch, logs=None):
        self.epochs.append((epoch, logs["loss"]))

    def on_test_begin(self, logs=None):
        if len(self.epochs) == 1:
            here("evaluate")


class Epochs(keras.callbacks.Callback):
    """Counts epochs only, so that steps run in groups."""

    def __init__(self):
        super().__init__()
        self.epochs = 0

    def on_epoch_begin(self, epoch, logs=None):
        here(f"second:{epoch}")

    def on_epoch_end(self, epoch, logs=None):
        self.epochs += 1


x = np.random.default_rng(1).normal(size=(ROWS, 6)).astype("float32")
y = (x.sum(axis=1) > 0).astype("int32")


def noisy(a, b):
    return a + tf.random.normal(tf.shape(a), stddev=0.01), b


augment = keras.layers.GaussianNoise(0.01)
slices = tf.data.Dataset.from_tensor_slices((x, y))
training = (
    slices.shuffle(ROWS)
    .batch(BATCH)
    .map(noisy, num_parallel_calls=4)
    .map(lambda a, b: (augment(a, training=True), b))
    .prefetch(2)
)
validation = slices.take(16).shuffle(16).batch(8)


def model_of(units, rate):
    model = keras.Sequential(
        [
            keras.layers.Dense(units, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.3),
            keras.layers.Dense(2),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.Adam(rate), loss=loss, metrics=["accuracy"], jit_compile=False)
    return model


first, counts = model_of(8, keras.optimizers.schedules.ExponentialDecay(0.01, 10, 0.9)), Counts()
board = importlib.util.find_spec("tensorboard") is not None
one = first.fit(
    training,
    validation_data=validation,
    epochs=3,
    verbose=0,
    callbacks=[
        counts,
        keras.callbacks.CSVLogger("one.csv"),
        *([keras.callbacks.TensorBoard("board")] if board else []),
        keras.callbacks.ModelCheckpoint("best.weights.h5", save_weights_only=True, save_best_only=True, monitor="loss"),
        keras.callbacks.EarlyStopping(monitor="loss", patience=5, restore_best_weights=True),
    ],
)
drawn = [random.random(), np.random.random(), np.random.default_rng().random(), float(tf.random.uniform([]))]
drawn.append(float(keras.random.uniform([])))
here("between")
second, epochs = model_of(4, 0.01), Epochs()
second.build((None, 6))  # for BackupAndRestore; the first one is built by its first batch
two = second.fit(
    x,
    y,
    batch_size=BATCH,
    validation_data=(x[:16], y[:16]),
    epochs=5,
    verbose=2,
    callbacks=[
        epochs,
        keras.callbacks.CSVLogger("two.csv"),
        keras.callbacks.ReduceLROnPlateau(monitor="loss", patience=0, min_delta=1.0),
        keras.callbacks.LearningRateScheduler(lambda epoch, lr: lr * 0.99),
        keras.callbacks.BackupAndRestore("backup"),
    ],
)


def digest(model):
    values = [np.asarray(v.value) for v in [*model.variables, *model.optimizer.variables]]
    return hashlib.sha256(b"".join(value.tobytes() for value in values)).hexdigest()


def logged():
    """Returns what TensorBoard would show of epochs."""
    found = []
    for path in sorted(Path("board").rglob("events.out.tfevents.*")):
        for record in tf.data.TFRecordDataset(str(path)):
            event = tf.compat.v1.Event.FromString(record.numpy())
            found += [[path.parent.name, v.tag, event.step] for v in event.summary.value if v.tag.startswith("epoch")]
    return sorted(found)


facts = {
    "first": digest(first),
    "second": digest(second),
    "one": one.history,
    "two": two.history,
    "epochs": [one.epoch, two.epoch, counts.epochs, epochs.epochs],
    "batches": counts.batches,
    "seen": counts.seen["draws"],
    "drawn": drawn,
    "after": [counts.rng.random(), random.random(), np.random.random(), float(tf.random.uniform([]))],
    "stop": [first.stop_training, second.stop_training],
    "is_its_history": [first.history is one, second.history is two],
    "lr": float(second.optimizer.learning_rate),
}
if paceline.is_chief():
    facts["csv"] = [Path("one.csv").read_text(), Path("two.csv").read_text()]
    facts["board"] = logged()
    facts["best"] = Path("best.weights.h5").stat().st_size
Path(os.environ["FACTS"], f"{paceline.rank()}.json").write_text(json.dumps(facts, default=float))
