"""Sums through paceline's RING transport, inside a `tf.function`.

Usage: python sweep_ring.py RANK SIZE PORT
"""

import os

import sweep_common
import workload

rank, size, port = workload.arguments()
os.environ["TF_NUM_INTRAOP_THREADS"] = "1"
import tensorflow as tf

from paceline.collectives.ring import RingTransport

transport = RingTransport({"worker": [f"127.0.0.1:{port + i}" for i in range(size)]}, rank)


def prepare(count):
    @tf.function
    def sums(values):
        for _ in range(sweep_common.IN_ONE_CALL):
            values = transport.all_reduce(values)
        return values

    values = tf.zeros([count])
    return lambda: sums(values)


sweep_common.report(rank, sweep_common.sweep(prepare))
transport.barrier()  # a server that ends while the other still sums would be an error there
