"""Makes model, optimizer and compile inside and outside of the scope, in every combination, and in a thread."""

import contextlib
import itertools
import sys
import threading

import keras
import numpy as np
import tensorflow as tf
from facts import digest, note, table, weights

strategy = tf.distribute.MirroredStrategy()
x, y = table()
parts = ("model", "optimizer", "compile")
results, digests = {}, {}


def place(inside):
    return strategy.scope() if inside else contextlib.nullcontext()


def train(inside, fit_inside):
    keras.backend.clear_session()
    keras.utils.set_random_seed(7)
    with place("model" in inside):
        model = keras.Sequential([keras.Input([6]), keras.layers.Dense(3)])
    with place("optimizer" in inside):
        optimizer = keras.optimizers.SGD(0.5, momentum=0.9)
    with place("compile" in inside):
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(optimizer, loss)
    with place(fit_inside):
        model.fit(x, y, batch_size=32, shuffle=False, verbose=0)
    return model


cases = [set(chosen) for n in range(4) for chosen in itertools.combinations(parts, n)]
if "reference" in sys.argv:
    cases = [set(parts)]
for inside in cases:
    model = train(inside, fit_inside=False)
    results["+".join(sorted(inside)) or "none"] = weights(model)
if "reference" not in sys.argv:
    results["fit too"] = weights(train(set(parts), fit_inside=True))

made = []
thread = threading.Thread(target=lambda: made.append(train(set(), fit_inside=False)))
thread.start()
thread.join()
built = made[0]
results["in a thread"] = weights(built)
thread = threading.Thread(target=lambda: built.fit(x, y, batch_size=32, shuffle=False, verbose=0))
thread.start()
thread.join()
keras.backend.clear_session()
note(continued=weights(built), iterations=int(built.optimizer.iterations))
note(results=results, digest=digest(*[np.array(v) for v in results.values()], *built.get_weights()))
