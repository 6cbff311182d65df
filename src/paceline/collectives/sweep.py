"""Measures how long a sum over workers takes: `python -m paceline.collectives.sweep OUT WORK`, as a job's script.

`OUT` is the file that the chief writes, `[[bytes, seconds], ...]`; `WORK` is JSON, `[[bytes, repetitions], ...]`.
`paceline.launch.sweep` starts it. It prints nothing.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

import paceline
from paceline.collectives.transport import Transport
from paceline.errors import TransportError


def main(arguments: Sequence[str]) -> None:
    """Measures every size and writes the times. Collective: every worker calls it with the same work."""
    out, work = Path(arguments[0]), json.loads(arguments[1])
    transport: Transport = paceline.strategy().transport
    # In a graph, as a training step does it. Each size is traced once.
    total = tf.function(transport.all_reduce)
    times_s = [[size, _measure(transport, total, size, repetitions)] for size, repetitions in work]
    if paceline.is_chief():
        out.write_text(json.dumps(times_s), encoding="utf-8")


def _measure(transport: Transport, total: Callable[[tf.Tensor], tf.Tensor], size_bytes: int, repetitions: int) -> float:
    """Returns the median over repetitions of the slowest worker's time. Collective: yes."""
    tensor = tf.fill([size_bytes // 4], tf.constant(transport.rank + 1, tf.float32))
    _check(total(tensor), transport.size)
    total(tensor)  # the first that is neither traced nor looked at
    mine_s = []
    for _ in range(repetitions):
        began = time.perf_counter()
        total(tensor)
        mine_s.append(time.perf_counter() - began)
    everybody_s = [json.loads(text) for text in transport.gather_bytes(json.dumps(mine_s).encode())]
    return float(np.median(np.max(everybody_s, axis=0)))


def _check(summed: tf.Tensor, size: int) -> None:
    """Raises TransportError where the sum of 1, 2, ... `size` is wrong: such times are worth nothing."""
    expected = size * (size + 1) // 2
    wrong = int(np.sum(summed.numpy() != expected))
    if wrong:
        raise TransportError(
            "The workers' sum is wrong.",
            got=f"{wrong} of {summed.shape[0]} numbers differ",
            expected=f"{expected}, the sum of 1 to {size}",
            fix="paceline run --communication ... with another transport, and report it",
        )


if __name__ == "__main__":
    main(sys.argv[1:])
