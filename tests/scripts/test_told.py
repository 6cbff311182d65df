"""What replicas cannot have as one device has it is said: once each, and of nothing else."""

from __future__ import annotations

import pytest

TOLD = (
    "a loss function that returns one number is no mean or sum over rows",
    "the loss of_its_own is no mean or sum over rows",
    "a loss compares the rows of a batch with each other",
    "pairs/smaller: this metric compares the rows of a batch with each other",
    r"code_book/uses: .* is no mean over rows.*aggregation=\"sum\"",
    "the log largest of a step is no mean or sum over rows",
    "a size in a step is the largest number in a batch .tf.reduce_max of lengths., as far as the graph shows",
    "RaggedTensor.to_tensor inside a loop, .* pads to the longest row that a replica has",
    r"a step assigns to scale:0, a tf.Variable of the script's own, .*add_weight\(..., trainable=False\)",
)
#: What is told of a graph; the last of what is told is not.
SHOWN = "as far as (its|the) graph shows|inside a loop"


@pytest.mark.support(feature="losses and states of a whole batch are told", strategy="multi-worker", transport="mpi")
def test_what_is_of_a_whole_batch_is_told(start):
    result = start("told.py", "told", workers=2).ok()
    for pattern in TOLD:
        assert len(result.notes(pattern)) == 1, (pattern, result.err)
    assert len(result.notes(SHOWN)) == len(TOLD) - 1, result.err
    one, other = (worker["scales"] for worker in result.facts)
    assert one != other  # as it says


def test_of_what_is_a_mean_or_a_sum_nothing_is_told(start):
    assert not start("told.py", "nothing", workers=2).ok().notes(f"{SHOWN}|tf.Variable")


def test_one_worker_is_told_nothing(start):
    assert not start("told.py", "told", workers=1).ok().notes(f"{SHOWN}|tf.Variable")
