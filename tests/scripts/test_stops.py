"""What one worker's callback decides, all do at the same point; what one worker reads hangs nobody."""

from __future__ import annotations

import re

import pytest

#: Not of the versions of Keras: run on the newest tested ones only.


@pytest.fixture(scope="module")
def stops(start):
    return start("stops.py", workers=2).ok()


@pytest.mark.support(feature="callback that stops training on one worker", strategy="multi-worker", transport="mpi")
def test_one_workers_stop_is_everybodys_at_the_same_point(stops):
    assert stops.same("ends") == {
        "batch": [3, 1],
        "epoch": [10, 2],
        "chief": [2, 1],
        "nobody": [15, 3],
        "in one list only": [2, 1],
        "evaluate": [2, True],
    }
    stops.same("digest")
    stops.same("evaluated")


def test_reading_results_on_one_worker_is_no_collective(stops):
    assert stops.facts[1]["alone"]["loss"] > 0
    stops.same("end")


def test_what_one_worker_does_by_itself_is_no_call_that_others_miss(stops):
    assert (stops.folder / "alone.keras").exists()
    assert not stops.notes("different")


def test_one_progress_bar(stops):
    assert stops.text.count("Epoch 1/3") == 1
    assert len(re.findall(r"^5/5 - \d+s - ", stops.out, re.MULTILINE)) == 1
