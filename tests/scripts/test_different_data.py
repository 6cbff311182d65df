"""Workers that read different batches are refused: each would train on a part of its own part."""

from __future__ import annotations

import pytest


@pytest.mark.support(
    feature="a dataset that the script shards itself",
    strategy="multi-worker",
    transport="mpi",
    refused="fit shares out rows itself; hand it distribute_datasets_from_function(...) to share out data yourself",
)
def test_a_dataset_sharded_by_the_script_is_refused_with_the_way_out(start):
    outcome = start("different_data.py")
    assert outcome.code == 78
    assert "The workers read different data" in outcome.err
    assert "distribute_datasets_from_function" in outcome.err
    assert "Traceback" not in outcome.err


def test_on_one_worker_it_is_no_shard(start):
    start("different_data.py", workers=1).ok()
