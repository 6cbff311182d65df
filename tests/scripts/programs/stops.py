"""Callbacks that one worker decides by itself; a progress bar; a model that only one worker reads."""

import contextlib

import keras
import tensorflow as tf
from facts import digest, note, rank, table

x, y = table()
strategy = tf.distribute.MirroredStrategy()


def fresh():
    model = keras.Sequential([keras.Input([6]), keras.layers.Dense(3)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


class StopsAt(keras.callbacks.Callback):
    """Asks for the end at one batch or one epoch, on the worker of one rank only."""

    def __init__(self, who, batch=None, epoch=None, test_batch=None):
        super().__init__()
        self.who, self.batch, self.epoch, self.test_batch = who, batch, epoch, test_batch
        self.seen = 0

    def on_train_batch_end(self, batch, logs=None):
        self.seen += 1
        if rank() == self.who and self.batch == batch:
            self.model.stop_training = True

    def on_epoch_end(self, epoch, logs=None):
        if rank() == self.who and self.epoch == epoch:
            self.model.stop_training = True

    def on_test_batch_end(self, batch, logs=None):
        if rank() == self.who and self.test_batch == batch:
            self.model.stop_evaluating = True


ends = {}
for name, callback in {
    "batch": StopsAt(1, batch=2), "epoch": StopsAt(1, epoch=1), "chief": StopsAt(0, batch=1), "nobody": StopsAt(7),
}.items():  # fmt: skip
    model = fresh()
    history = model.fit(x, y, batch_size=8, epochs=3, verbose=0, callbacks=[callback])
    ends[name] = [int(model.optimizer.iterations), len(history.epoch)]

model = fresh()
only_one = [StopsAt(0, batch=1)] if rank() == 0 else []
history = model.fit(x, y, batch_size=8, epochs=3, verbose=1 if rank() == 0 else 0, callbacks=only_one)
ends["in one list only"] = [int(model.optimizer.iterations), len(history.epoch)]

counting = StopsAt(1, test_batch=1)
evaluated = model.evaluate(x, y, batch_size=8, verbose=0, callbacks=[counting])
ends["evaluate"] = [int(strategy.num_replicas_in_sync), float(evaluated) > 0]
note(ends=ends, digest=digest(*model.get_weights()), evaluated=evaluated)

if rank() == 1:
    note(alone={k: float(v) for k, v in model.get_metrics_result().items()}, history=history.history["loss"])
    float(model.metrics[0].result())
    # What exchanges nothing may be done on one worker, also a call that fails before it begins.
    model(x[:4], training=False)
    with contextlib.suppress(Exception):
        model.predict("no data", verbose=0)
    fresh().save("alone.keras")
    keras.saving.load_model("alone.keras")
model.fit(x, y, batch_size=8, verbose=2)
note(end=digest(*model.get_weights()))
