"""Sums through paceline's MPI transport, inside a `tf.function`; `BENCH_BARE=1`: through mpi4py alone.

Started by `paceline run`, which brings MPI up.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sweep_common

rank, size = int(os.environ["PACELINE_RANK"]), int(os.environ["BENCH_WORKERS"])


def through_mpi4py(count):
    import numpy as np
    from mpi4py import MPI

    sent, received = np.zeros(count, np.float32), np.empty(count, np.float32)

    def call():
        for _ in range(sweep_common.IN_ONE_CALL):
            MPI.COMM_WORLD.Allreduce(sent, received)

    return call


def through_paceline():
    import tensorflow as tf

    from paceline.collectives.mpi import MpiTransport

    transport = MpiTransport(rank, size)

    def prepare(count):
        @tf.function
        def sums(values):
            for _ in range(sweep_common.IN_ONE_CALL):
                values = transport.all_reduce(values)
            return values

        values = tf.zeros([count])
        return lambda: sums(values)

    return prepare


prepare = through_mpi4py if os.environ.get("BENCH_BARE") == "1" else through_paceline()
sweep_common.report(rank, sweep_common.sweep(prepare))
