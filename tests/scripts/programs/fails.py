"""Fails in the way that its first argument names."""

import os
import pathlib
import resource
import shutil
import signal
import sys
import time

import keras
import tensorflow as tf
from facts import note, rank, table

how = sys.argv[1]
x, y = table()


def fresh():
    model = keras.Sequential([keras.Input([6]), keras.layers.Dense(3)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


class RaisesOnOne(keras.callbacks.Callback):
    """Raises on the worker of rank 1."""

    def on_train_batch_end(self, batch, logs=None):
        if rank() == 1 and batch == 2:
            raise ValueError("a callback broke on one worker")


model = fresh()
if how == "callback":
    model.fit(x, y, batch_size=8, verbose=0, callbacks=[RaisesOnOne()])
elif how == "folder":
    pathlib.Path("a-file").touch()
    model.save("a-file/model.keras")
elif how == "full disk":
    # as on a disk with no room left: writing more than a few bytes to a file is an error
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limit = 2000 if rank() == 0 else resource.RLIM_INFINITY
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    wide = keras.Sequential([keras.Input([100]), keras.layers.Dense(100)])
    wide.save_weights("big.weights.h5")
elif how == "early return":
    # no callback and no fit in between: the wait is inside a step
    for batch in range(2 if rank() == 1 else 3):
        model.train_on_batch(x[batch : batch + 8], y[batch : batch + 8])
elif how == "early exit":
    if rank() == 1:
        sys.exit(0)
    model.fit(x, y, batch_size=8, epochs=2, verbose=0)
elif how == "code":
    model.fit(x, y, batch_size=8, verbose=0)
    sys.exit(5)
elif how == "text":
    sys.exit("nothing to do here")
elif how == "interrupt":
    raise KeyboardInterrupt
elif how == "slow end":
    # workers end normally, one of them later than the limit for a worker left alone
    model.fit(x, y, batch_size=8, verbose=0)
    if rank() == 1:
        time.sleep(11)
    note(ended=True)
    sys.exit(0)
elif how == "run directory":
    # a script that cleans up more than is its own still saves, and ends
    model.fit(x, y, batch_size=8, verbose=0)
    shutil.rmtree("runs", ignore_errors=True)
    model.fit(x, y, batch_size=8, verbose=0)
    model.save("model.keras")
    note(ended=pathlib.Path("model.keras").exists())
    sys.exit(0)
elif how == "depth":
    layers = [keras.layers.Dense(3) for _ in range(1 + rank())]
    model = keras.Sequential([keras.Input([6]), *layers])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(x, y, batch_size=8, verbose=0)
elif how == "deferred width":
    model = keras.Sequential([keras.layers.Dense(4 + rank()), keras.layers.Dense(3)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(x, y, batch_size=8, verbose=0)
note(reached=os.getpid() > 0 and bool(tf.executing_eagerly()))
