"""Sizes of the sweep, how often each is summed, and the clock; no framework is imported here."""

import json
import os
import statistics
import time

QUICK = os.environ.get("BENCH_QUICK") == "1"
SIZES_BYTES = tuple(4 * 4**n for n in range(3 if QUICK else 13))  # 4 B to 64 MiB
IN_ONE_CALL = 8
"""So many sums, one after the other, are one call, as a step calls TensorFlow once and not once for each sum."""


def num_calls(size_bytes):
    """Returns how many calls are timed: about 64 MiB in all, at least 4 calls, at most 100."""
    return 2 if QUICK else max(4, min(100, 2**26 // (size_bytes * IN_ONE_CALL)))


def sweep(prepare):
    """Returns `[[size_bytes, ms], ...]`: the median of timed calls, for one sum.

    Args:
        prepare: Makes of a number of float32 values a function without arguments that does `IN_ONE_CALL` sums.
    """
    found = []
    for size_bytes in SIZES_BYTES:
        call = prepare(size_bytes // 4)
        for _ in range(2):
            call()
        times = []
        for _ in range(num_calls(size_bytes)):
            began = time.perf_counter()
            call()
            times.append(time.perf_counter() - began)
        found.append([size_bytes, statistics.median(times) / IN_ONE_CALL * 1000])
    return found


def report(rank, found):
    """Prints the result of the first process."""
    if rank == 0:
        print("\nRESULT " + json.dumps(found), flush=True)
