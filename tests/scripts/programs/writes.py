"""Writes with everything that scripts and callbacks write with, and reads it back at once on every worker."""

import http.server
import importlib.util
import pathlib
import sys
import threading

import keras
import numpy as np
import tensorflow as tf
from facts import digest, note, rank, table

import paceline

folder = pathlib.Path("out")
calls = {"saves": 0}
strategy = tf.distribute.MultiWorkerMirroredStrategy()
with strategy.scope():
    model = keras.Sequential([keras.Input([6]), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(3)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
x, y = table()
real_write = keras.src.saving.saving_lib.save_model


def counted(*args, **kwargs):
    calls["saves"] += 1
    return real_write(*args, **kwargs)


keras.src.saving.saving_api.saving_lib.save_model = counted

seen = {"lambda": 0, "read": []}


def read_back(epoch, logs):
    """A lambda that reads what ModelCheckpoint, before it in the list, has just written."""
    seen["lambda"] += 1
    seen["read"].append(digest(*keras.models.load_model(folder / f"epoch-{epoch}.keras").get_weights()))


callbacks = [
    keras.callbacks.ModelCheckpoint(
        str(folder / "deep" / "best.weights.h5"), save_weights_only=True, save_best_only=True, monitor="loss"
    ),
    keras.callbacks.ModelCheckpoint(str(folder / "best.keras"), save_best_only=True, monitor="val_loss"),
    keras.callbacks.ModelCheckpoint("out/epoch-{epoch}.keras"),
    keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: read_back(epoch + 1, logs)),
    keras.callbacks.CSVLogger("log.csv"),
    *([keras.callbacks.TensorBoard("board")] if importlib.util.find_spec("tensorboard") else []),
    keras.callbacks.EarlyStopping(monitor="val_loss", patience=30, restore_best_weights=True),
    keras.callbacks.ReduceLROnPlateau(monitor="loss", factor=0.5, patience=0, min_delta=10.0),
    keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate * (0.9 if epoch == 1 else 1.0)),
    keras.callbacks.TerminateOnNaN(),
]  # fmt: skip
history = model.fit(x, y, batch_size=16, epochs=3, validation_split=0.2, verbose=2, callbacks=callbacks)
note(
    logs={k: [float(v) for v in values] for k, values in history.history.items()},
    weights=digest(*model.get_weights()), seen=seen,
    best=digest(*keras.models.load_model(folder / "best.keras").get_weights()),
    rate=float(model.optimizer.learning_rate), loss=float(model.metrics[0].result()),
)  # fmt: skip

# the script's own writes, each read back at once
model.save("model.keras")
keras.saving.save_model(model, "again.keras")
tf.keras.models.save_model(model, "tf-keras.keras")
model.save("model.h5")
model.save_weights("script.weights.h5")
model.export("exported", verbose=False)
tf.saved_model.save(model, "saved")
read = {
    name: digest(*keras.models.load_model(name).get_weights())
    for name in ("model.keras", "again.keras", "tf-keras.keras")
}
exported = tf.saved_model.load("exported")
read["exported"] = digest(exported.serve(x).numpy())
read["saved"] = bool(tf.saved_model.load("saved"))
note(read=read, served=digest(model(x).numpy()))

counter = tf.Variable(0.0)
checkpoint = tf.train.Checkpoint(model=model, counter=counter)
counter.assign(1.0)
first = checkpoint.save("ck/plain")
counter.assign(2.0)
second = checkpoint.save("ck/plain")
written = checkpoint.write("ck/written")
checkpoint.restore(first).expect_partial()
after_first = float(counter)
manager = tf.train.CheckpointManager(checkpoint, "managed", max_to_keep=2)
managed = []
for value in (5.0, 6.0, 7.0):
    counter.assign(value)
    managed.append(manager.save())
skipping = tf.train.CheckpointManager(checkpoint, "skipping", 1, step_counter=counter, checkpoint_interval=10)
skipped = [skipping.save(), skipping.save(check_interval=True)]
counter.assign(0.0)
checkpoint.restore(manager.latest_checkpoint)
note(
    paths=[first, second, written, *managed], after_first=after_first, restored=float(counter),
    kept=manager.checkpoints,
    latest=[manager.latest_checkpoint, tf.train.latest_checkpoint("managed")], counter=int(checkpoint.save_counter),
    skipped=skipped,
)  # fmt: skip

# the ways in which scripts let one worker write
if paceline.is_chief():
    model.save("chief-only.keras")
if strategy.cluster_resolver.task_id == 0:
    model.save_weights("task.weights.h5")
model.fit(x, y, batch_size=20, verbose=0)
task_type, task_id = strategy.cluster_resolver.task_type, strategy.cluster_resolver.task_id
is_chief = (task_type == "worker" and task_id == 0) or task_type is None
path = "tutorial/model.keras" if is_chief else f"tutorial/workertemp_{task_id}/model.keras"
pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
model.save(path)
note(tutorial=digest(*keras.models.load_model(path).get_weights()), wanted=digest(*model.get_weights()))
if not is_chief:
    model.save("only-another.keras")
    note(only_another=pathlib.Path("only-another.keras").exists())


class ChiefSaves(keras.callbacks.Callback):
    """Saves on the chief only, in the middle of an epoch, and on another worker only."""

    def on_train_batch_end(self, batch, logs=None):
        if paceline.is_chief():
            self.model.save("in-callback.keras")
        elif batch == 1:
            self.model.save_weights("other-in-callback.weights.h5")


model.fit(x, y, batch_size=16, verbose=0, callbacks=[ChiefSaves()])
log_reader = [keras.callbacks.LambdaCallback(on_train_batch_end=lambda b, logs: [float(v) for v in logs.values()])]
model.fit(x, y, batch_size=16, verbose=0, callbacks=log_reader if rank() == 1 else [])
if rank() == 1:
    note(read_alone=[float(metric.result()) if metric.name == "loss" else 0.0 for metric in model.metrics])

# downloads
requests = []


class Handler(http.server.SimpleHTTPRequestHandler):
    """Counts what is asked for."""

    def do_GET(self):
        requests.append(self.path)
        super().do_GET()

    def log_message(self, *args):
        pass


port = int(sys.argv[1])
pathlib.Path("cache").mkdir(exist_ok=True)  # one that is not there is replaced by /tmp/.keras
if paceline.is_chief():
    pathlib.Path("served.txt").write_text("served")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
model.fit(x, y, batch_size=20, verbose=0)
got = [
    keras.utils.get_file("by-http.txt", f"http://127.0.0.1:{port}/served.txt", cache_dir="cache"),
    tf.keras.utils.get_file("by-file.txt", pathlib.Path("served.txt").absolute().as_uri(), cache_dir="cache"),
]
note(
    one_function=[
        get_file is keras.utils.get_file
        for get_file in (
            tf.keras.utils.get_file,
            keras.src.datasets.mnist.get_file,
            keras.src.utils.file_utils.get_file,
        )
    ]
)
note(downloaded=[pathlib.Path(name).read_text() for name in got])
model.fit(x, y, batch_size=20, verbose=0)
note(requests=requests, saves=calls["saves"], end=digest(*model.get_weights()))
assert np.isfinite(model.get_weights()[0]).all()
