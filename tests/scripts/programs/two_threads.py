"""Two fits at once, in two threads."""

import threading

import keras
from facts import note, table

x, y = table()
failures = []


def fit():
    model = keras.Sequential([keras.Input([6]), keras.layers.Dense(3)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    try:
        model.fit(
            x, y, epochs=2, batch_size=16, verbose=0, callbacks=[keras.callbacks.LambdaCallback(on_epoch_end=meet)]
        )
    except Exception as failure:
        failures.append([type(failure).__name__, str(failure)])


both = threading.Barrier(2, timeout=6)


def meet(epoch, logs):
    try:
        both.wait()
    except threading.BrokenBarrierError:
        pass


threads = [threading.Thread(target=fit) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
note(failures=failures)
