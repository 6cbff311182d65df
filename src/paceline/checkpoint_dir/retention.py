"""Which checkpoints stay."""

from __future__ import annotations

from collections.abc import Mapping


def to_remove(created: Mapping[int, float], *, keep: int, keep_every_s: float | None = None) -> list[int]:
    """Returns the job steps whose checkpoints may go, oldest first: a pure function.

    The newest ``keep`` stay, and the oldest, and of the others each that was written at least ``keep_every_s``
    after the last one that stayed. What stayed once stays as long as nothing is removed by hand.

    Args:
        created: Job step -> unix seconds, of all complete checkpoints.
        keep: How many of the newest stay, at least one.
        keep_every_s: None: the newest only.

    >>> to_remove({1: 0, 2: 10, 3: 20, 4: 30, 5: 40}, keep=2)
    [1, 2, 3]
    >>> to_remove({1: 0, 2: 10, 3: 20, 4: 30, 5: 40}, keep=2, keep_every_s=20)
    [2]
    """
    steps = sorted(created)
    older = steps[: max(0, len(steps) - max(1, keep))]
    if keep_every_s is None:
        return older
    removed, last = [], float("-inf")
    for step in older:
        if created[step] - last >= keep_every_s:
            last = created[step]
        else:
            removed.append(step)
    return removed
