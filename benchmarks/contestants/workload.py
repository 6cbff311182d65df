"""What a contestant is told to train and for how long, its data, and the clock that times its epochs.

No contestant's framework is imported here.
"""

import json
import os
import sys
import time

import numpy as np

MODEL = os.environ.get("BENCH_MODEL", "mlp")
ROWS_A_WORKER = int(os.environ.get("BENCH_ROWS", "128"))
STEPS = int(os.environ.get("BENCH_STEPS", "100"))
WARM_UP_EPOCHS = int(os.environ.get("BENCH_WARM_UP_EPOCHS", "2"))
EPOCHS = WARM_UP_EPOCHS + int(os.environ.get("BENCH_EPOCHS", "4"))
STEPS_PER_EXECUTION = int(os.environ.get("BENCH_STEPS_PER_EXECUTION", "1"))

_SHAPES = {"mlp": ((784,), 10), "cnn": ((64, 64, 3), 1000), "wide": ((784,), 10)}


def arguments():
    """Returns `(rank, size, port)` from the command line."""
    return int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])


def data(size):
    """Returns x `[n, ...]` float32 and y `[n]` int32 for `STEPS` steps of all workers together."""
    shape, num_classes = _SHAPES[MODEL]
    rng = np.random.default_rng(0)
    n = ROWS_A_WORKER * size * STEPS
    return rng.standard_normal((n, *shape), dtype=np.float32), rng.integers(0, num_classes, n, dtype=np.int32)


def own_data(rank, size):
    """Returns `data` of one worker only, in batches: x `[STEPS, ROWS_A_WORKER, ...]` and y `[STEPS, ROWS_A_WORKER]`."""
    x, y = data(size)
    x = x.reshape(STEPS, size, ROWS_A_WORKER, *x.shape[1:])[:, rank]
    return np.ascontiguousarray(x), np.ascontiguousarray(y.reshape(STEPS, size, ROWS_A_WORKER)[:, rank])


class Clock:
    """Times epochs; the first ones are compilation and warm-up."""

    def __init__(self, size):
        self._rows = ROWS_A_WORKER * size * STEPS
        self._last = time.perf_counter()
        self.rates = []

    def epoch(self, *_):
        """Call at the end of each epoch."""
        now = time.perf_counter()
        self.rates.append(self._rows / (now - self._last))
        self._last = now

    def report(self, rank):
        """Prints the rates of the epochs after the warm-up, in samples/s of the whole job."""
        if rank == 0:
            print("\nRESULT " + json.dumps(self.rates[WARM_UP_EPOCHS:]), flush=True)
