"""One worker makes a call of Keras that the others do not: which, and where, its first argument names."""

import sys

import keras
from facts import note, rank, table

import paceline

how = sys.argv[1]
x, y = table()


class EvaluatesOnTheChief(keras.callbacks.Callback):
    """Evaluates at the end of an epoch, on the chief alone."""

    def on_epoch_end(self, epoch, logs=None):
        if paceline.is_chief():
            self.model.evaluate(x, y, verbose=0)


model = keras.Sequential([keras.Input([6]), keras.layers.Dense(3)])
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
callbacks = [EvaluatesOnTheChief()] if how == "callback" else []
model.fit(x, y, batch_size=8, epochs=3 if how == "epochs" and rank() == 1 else 2, verbose=0, callbacks=callbacks)
if how == "predict" and paceline.is_chief():
    model.predict(x, verbose=0)
if how == "steps":
    # Both are traced, so that the second time each worker waits inside TensorFlow, and none comes to Python.
    for odd in (False, rank() == 1):
        model.train_on_batch(x[:8], y[:8])
        (model.train_on_batch if odd else model.test_on_batch)(x[:8], y[:8])
model.fit(x, y, batch_size=8, verbose=0)
note(reached=True)
