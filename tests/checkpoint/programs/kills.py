"""Kills a process that writes checkpoints at random moments; after each kill what it had completed is whole.

Usage: kills.py DIRECTORY TIMES SEED. Prints a JSON object.
"""

import json
import os
import random
import signal
import sys
import time
from collections import Counter

import numpy as np

from paceline.checkpoint.store import CheckpointStore
from paceline.checkpoint_dir.examine import Depth, examine
from paceline.checkpoint_dir.reader import LocalReader

KEEP = 2
DIRECTORY, TIMES, SEED = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def tensors_of(step):
    return {"a": np.full(20_000, step, np.float32), "b": np.full((), step)}


def write_for_ever(pipe, first):
    """Writes one after the other, each other one twice, and says so when it is complete."""
    store = CheckpointStore(DIRECTORY, keep=KEEP, tell=str)
    store.tidy()
    step = first
    while True:
        for _ in range(1 + step % 2):
            store.write(step, tensors_of(step), {"step": step})
        if step % 3 == 0:
            store.write_run({"step": step})
        os.write(pipe, step.to_bytes(8, "little"))
        step += 1


def one_kill(first, wait_s):
    """Returns the last step that the writer said to be complete, before it was killed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            write_for_ever(writing, first)
        finally:
            os._exit(1)
    os.close(writing)
    os.read(reading, 8)
    time.sleep(wait_s)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    said = first
    while content := os.read(reading, 8):
        said = int.from_bytes(content, "little")
    os.close(reading)
    return said


def main():
    chance = random.Random(SEED)  # noqa: S311 - moments, no secrets
    states, faults, step = Counter(), [], 0
    for _ in range(TIMES):
        said = one_kill(step + 1, chance.uniform(0, 0.03))
        found = examine(LocalReader(DIRECTORY), depth=Depth.SUMS)
        states.update(entry.state for entry in found.entries)
        good = [entry.number for entry in found.checkpoints if entry.is_good]
        store = CheckpointStore(DIRECTORY, tell=str)
        if found.run_fault or len(good) != len(found.checkpoints):
            faults.append(f"damaged: {found}")
        # One that is being replaced has another name for an instant; `tidy` gives it its own again.
        replaced = [entry.name for entry in found.entries if entry.state == "replaced"]
        if max(good, default=0) < said and not replaced:
            faults.append(f"lost: {said}, has {good}")
        if len(good) + len(replaced) < min(KEEP, said):
            faults.append(f"too few: {good}")
        store.tidy()
        step = store.newest()
        if step < said:
            faults.append(f"lost for good: {said}, has {step}")
        stored = store.read(step)
        if stored.meta != {"step": step} or not all(
            (array == step).all() for array in stored.tensors.values() if step < 100
        ):
            faults.append(f"mixed: {step}")
    left = sorted(os.listdir(DIRECTORY))
    print(json.dumps({"faults": faults, "states": states, "last": step, "left": left}))


main()
