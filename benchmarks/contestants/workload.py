"""What every contestant trains: the article's MLP on random data, 128 rows a worker and step.

No contestant's framework is imported here.
"""

import json
import os
import sys
import time

import numpy as np

ROWS_A_WORKER = 128
STEPS = 100
EPOCHS = 6


def arguments():
    """Returns `(rank, size, port)` from the command line."""
    return int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])


def data(size):
    """Returns x `[n, 784]` float32 and y `[n]` int32 for `STEPS` steps of all workers together."""
    rng = np.random.default_rng(0)
    n = ROWS_A_WORKER * size * STEPS
    return rng.standard_normal((n, 784), dtype=np.float32), rng.integers(0, 10, n, dtype=np.int32)


def one_core(rank):
    """Keeps this process on one core, as every contestant is."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[rank % len(cores)]})


class Clock:
    """Times epochs; the first ones are compilation and warm-up."""

    def __init__(self, size):
        self._rows = ROWS_A_WORKER * size * STEPS
        self._last = time.perf_counter()
        self.rates = []

    def epoch(self):
        """Call at the end of each epoch."""
        now = time.perf_counter()
        self.rates.append(self._rows / (now - self._last))
        self._last = now

    def report(self, rank):
        """Prints the rates of the epochs after the first two, in samples/s of the whole job."""
        if rank == 0:
            print("RESULT " + json.dumps(self.rates[2:]), flush=True)
