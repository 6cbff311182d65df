"""Writes to a disk of 3 MB until it is full, then to one that can no longer be written. Prints a JSON object.

Usage: disks.py DIRECTORY, in a mount namespace of its own where it may mount.
"""

import json
import os
import subprocess
import sys

import numpy as np

from paceline.checkpoint.background import BackgroundWriter
from paceline.checkpoint.store import CheckpointStore

DISK = sys.argv[1]
SMALL, LARGE = {"a": np.ones(50_000)}, {"a": np.ones(1_000_000)}


def submit(writer, *work):
    for step, tensors in work:
        writer.submit(step, tensors, {})
    assert writer.flush(60)


def main():
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", DISK], check=True)
    told = []
    store = CheckpointStore(f"{DISK}/ckpt", tell=told.append)
    writer = BackgroundWriter(store)
    submit(writer, (1, SMALL))
    # Half of it fits where nobody looks first at how much is free.
    store._place._check_space = lambda num_bytes: None
    submit(writer, (2, LARGE))
    del store._place._check_space
    # And nothing is begun where somebody does.
    create, store._place.create = store._place.create, None
    submit(writer, (3, LARGE))
    store._place.create = create
    full = {"told": list(told), "steps": store.steps(), "names": os.listdir(store.path), "failing": writer.is_failing}
    submit(writer, (4, SMALL))
    again = {"told": told[len(full["told"]) :], "steps": store.steps(), "failing": writer.is_failing}
    told.clear()
    subprocess.run(["mount", "-o", "remount,ro", DISK], check=True)
    submit(writer, (5, SMALL), (6, SMALL))
    store.tidy()
    read_only = {"told": list(told), "steps": store.steps(), "newest": writer.newest}
    store.read(4)
    print(json.dumps({"full": full, "again": again, "read_only": read_only}))


main()
