"""Worker 1 comes late to a step; how much of its core does worker 0 take meanwhile?"""

import time

import keras
from facts import note, table

import paceline

LATE_S = 3.0


class Late(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 1:
            self.began, self.used = time.monotonic(), time.process_time()
            if paceline.rank() == 1:
                time.sleep(LATE_S)

    def on_epoch_end(self, epoch, logs=None):
        if epoch == 1:
            note(waited=time.monotonic() - self.began, used=time.process_time() - self.used)


x, y = table()
model = keras.Sequential([keras.layers.Dense(3)])
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(x, y, epochs=2, batch_size=16, verbose=0, callbacks=[Late()])
