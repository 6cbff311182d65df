"""Sums through MultiWorkerMirroredStrategy, RING, inside a `tf.function`.

Usage: python sweep_stock.py RANK SIZE PORT
"""

import json
import os

import sweep_common
import workload

rank, size, port = workload.arguments()
os.environ["TF_NUM_INTRAOP_THREADS"] = "1"
os.environ["TF_CONFIG"] = json.dumps(
    {"cluster": {"worker": [f"127.0.0.1:{port + i}" for i in range(size)]}, "task": {"type": "worker", "index": rank}}
)
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()


def prepare(count):
    def in_replica(values):
        values = tf.identity(values)  # here it gets the replica's device, without which it cannot be summed
        for _ in range(sweep_common.IN_ONE_CALL):
            values = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, values)
        return values

    @tf.function
    def sums(values):
        return strategy.run(in_replica, args=(values,))

    values = tf.zeros([count])
    return lambda: sums(values)


sweep_common.report(rank, sweep_common.sweep(prepare))
prepare(1)()  # a server that ends while the other still sums would be an error there
