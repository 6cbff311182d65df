"""What a checkpoint in the background costs training: the article's CNN, a state of 100 MB every 100 steps.

    python benchmarks/background_writing.py [--rounds N] [--directory DIR]

Blocks of 100 steps with and without a checkpoint at their begin take turns; each block with one is compared with those
beside it. Wants an otherwise idle machine.
"""

from __future__ import annotations

import argparse
import itertools
import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf

from benchmarks.contestants.models import cnn
from paceline.checkpoint.background import BackgroundWriter
from paceline.checkpoint.store import CheckpointStore

STEPS = 100
STATE = {f"state/{number}": np.ones(1_250_000, np.float32) for number in range(20)}  # 100 MB


class Thread:
    """A store that notes what its thread has used."""

    def __init__(self, store):
        self.store, self.tell, self.used = store, store.tell, []

    def write(self, *args):
        before = resource.getrusage(resource.RUSAGE_THREAD)
        written = self.store.write(*args)
        after = resource.getrusage(resource.RUSAGE_THREAD)
        self.used.append((after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime, written.seconds))
        return written


def stepper(rows):
    model = cnn(keras)
    optimizer = keras.optimizers.Adam()
    loss = keras.losses.SparseCategoricalCrossentropy()
    images, labels = tf.random.normal((rows, 64, 64, 3)), tf.zeros((rows,), tf.int32)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            value = loss(labels, model(images, training=True))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(value, variables), variables, strict=True))
        return value

    for _ in range(20):
        step().numpy()
    return step


def block(step, first=lambda: None):
    """Returns the time of a block and of what comes first in it, and the processor time that it took, in seconds."""
    begun, used = time.perf_counter(), time.process_time()
    first()
    copied = time.perf_counter() - begun
    for _ in range(STEPS):
        step().numpy()
    return time.perf_counter() - begun, copied, time.process_time() - used


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--rows", type=int, default=2, help="images of a step")
    parser.add_argument("--directory", default=None)
    arguments = parser.parse_args()
    step = stepper(arguments.rows)
    with tempfile.TemporaryDirectory(dir=arguments.directory) as folder:
        thread = Thread(CheckpointStore(folder))
        writer = BackgroundWriter(thread)
        number = iter(range(1, 1000))

        def save():
            writer.submit(next(number), writer.copy(STATE), {})

        save()
        writer.flush()
        plain, saving = [block(step)], []
        for _ in range(arguments.rounds):
            saving.append(block(step, save))
            writer.flush()
            plain.append(block(step))
    report(plain, saving, thread.used[1:])


def report(plain, saving, used):
    extra = [with_one[2] - without[2] for with_one, without in zip(saving, plain, strict=False)]
    copies = [copied for _, copied, _ in saving]
    plain, saving = ([seconds for seconds, *_ in blocks] for blocks in (plain, saving))
    beside = [(before + after) / 2 for before, after in itertools.pairwise(plain)]
    costs = [100 * (with_one / without - 1) for with_one, without in zip(saving, beside, strict=True)]
    # Two blocks without one, compared in the same way: what the machine makes up.
    nothing = [100 * (b / ((a + c) / 2) - 1) for a, b, c in zip(plain, plain[1:], plain[2:], strict=False)]
    print(f"step                 {1000 * statistics.median(plain) / STEPS:.1f} ms")
    print(f"copy                 {1000 * statistics.median(copies):.0f} ms")
    user, system, wall = (statistics.median(column) for column in zip(*used, strict=True))
    print(f"thread               {1000 * user:.0f} ms user, {1000 * system:.0f} ms system, {wall:.2f} s in all")
    share = 100 * statistics.median(extra) / (len(os.sched_getaffinity(0)) * statistics.median(plain))
    print(f"processor time       {1000 * statistics.median(extra):+.0f} ms, {share:+.2f} % of what all cores have")
    print(f"cost of step time    {statistics.median(costs):+.2f} % (quartiles {quartiles(costs)})")
    print(f"the same, of nothing {statistics.median(nothing):+.2f} % (quartiles {quartiles(nothing)})")


def quartiles(values):
    low, _, high = statistics.quantiles(values, n=4)
    return f"{low:+.2f} to {high:+.2f}"


main()
