"""A script that knows nothing of strategies is one training on N workers, never N trainings."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(scope="module")
def one(start):
    return start("no_strategy.py", workers=1).ok()


@pytest.fixture(scope="module")
def two(start):
    return start("no_strategy.py", workers=2).ok()


def test_unseeded_data_are_the_same_everywhere(one, two):
    assert two.same("drawn") == one.facts[0]["drawn"]
    assert two.same("kernel") == one.facts[0]["kernel"]
    assert two.same("begun") == one.facts[0]["begun"]


@pytest.mark.support(feature="script without a strategy", strategy="multi-worker", transport="mpi")
def test_two_workers_train_what_one_trains(one, two):
    one, digests = one.facts[0], two.same("digest")
    assert digests
    for worker in two.facts:
        # Adam divides by the root of tiny second moments, which magnifies the order of float32 sums
        np.testing.assert_allclose(worker["weights"], one["weights"], rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(worker["logs"]["loss"], one["logs"]["loss"], rtol=1e-5)
        np.testing.assert_allclose(worker["logs"]["accuracy"], one["logs"]["accuracy"], rtol=1e-6)
        np.testing.assert_allclose(worker["again"]["loss"], one["again"]["loss"], rtol=1e-5)
        np.testing.assert_allclose(worker["evaluated"], one["evaluated"], rtol=1e-5)
        assert worker["steps"] == one["steps"] == 12
    assert not np.allclose(one["weights"], one["begun"])


def test_each_worker_works_on_its_part_only(one, two):
    assert one.facts[0]["rows"] == [16, 16, 16, 2] * 3
    assert [worker["rows"] for worker in two.facts] == [[8, 8, 8, 1] * 3] * 2


def test_predictions_are_whole_everywhere(two):
    two.same("predicted")


def test_one_progress_bar(one, two):
    assert two.text.count("Epoch 1/2") == one.text.count("Epoch 1/2") == 1
    silent = next(two.folder.glob("runs/*/attempts/0/worker-1/stdout.log")).read_text()
    assert "Epoch" not in silent
