"""The matrix products of the MLP's training step and nothing else, one after the other: a bound that no step is below.

NumPy's own BLAS, buffers that are there already, no data, no activations, no update.
"""

import itertools
import os
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np
import workload

WIDTHS = (784, 256, 128, 10)


def products(rows):
    """Returns `(a, b, out)` of each product: forward, gradients of weights, and of inputs but the first."""
    rng = np.random.default_rng(0)

    def matrix(*shape):
        return rng.standard_normal(shape, dtype=np.float32)

    found = []
    for place, (wide, narrow) in enumerate(itertools.pairwise(WIDTHS)):
        x, w, g = matrix(rows, wide), matrix(wide, narrow), matrix(rows, narrow)
        found += [(x, w), (x.T, g)] + ([(g, w.T)] if place else [])
    return [(a, b, np.empty((a.shape[0], b.shape[1]), np.float32)) for a, b in found]


step = products(workload.ROWS_A_WORKER)
clock = workload.Clock(1)
for _ in range(workload.EPOCHS):
    for _ in range(workload.STEPS):
        for a, b, out in step:
            np.matmul(a, b, out=out)
    clock.epoch()
clock.report(rank=0)
