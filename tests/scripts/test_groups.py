"""Steps that run in groups are the same steps: as many, on the same data, seen at the same ends of epochs."""

from __future__ import annotations

import numpy as np
import pytest

#: Steps after each of three epochs. Stock Keras also counts a step in which it finds that there are no more data
#: (`GHOST_STEP` of the conformance cases); it takes 46 as the length from then on, as paceline does.
LENGTHS = {
    "known": [45, 90, 135],
    "streamed": [45, 90, 135],
    "endless": [20, 40, 60],
    "fewer steps than data": [15, 30, 45],
    "more steps than data": [45, 90, 135],
    "another number each epoch": [45, 75, 121],
}


@pytest.fixture(scope="module")
def plain(start):
    return start("groups.py", plain=True).ok()


@pytest.fixture(scope="module", params=[1, 2])
def grouped(request, start):
    return start("groups.py", workers=request.param).ok()


@pytest.mark.support(feature="steps run in groups", strategy="multi-worker", transport="mpi")
@pytest.mark.parametrize("length", LENGTHS)
def test_epochs_have_the_steps_that_keras_gives_them(plain, grouped, length):
    mine, stock = grouped.same(length), plain.facts[0][length]
    assert mine["iterations"] == LENGTHS[length]
    # sums of float32 in another order, over up to 135 steps
    np.testing.assert_allclose(mine["losses"], stock["losses"], rtol=1e-4)
    np.testing.assert_allclose(mine["weights"], stock["weights"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("length", LENGTHS)
def test_many_steps_are_one_call(grouped, length):
    facts = grouped.same(length)
    assert facts["calls"] < facts["iterations"][-1] / 2


def test_a_callback_that_looks_at_batches_sees_each(plain, grouped):
    assert grouped.same("each_batch")["batches"] == list(range(45)) * 3
    assert grouped.same("each_batch")["calls"] == 135


def test_steps_per_execution_of_the_script_is_kept(plain, grouped):
    assert grouped.same("as_asked")["batches"] == plain.facts[0]["as_asked"]["batches"]
    assert grouped.same("as_asked")["calls"] == plain.facts[0]["as_asked"]["calls"]


CUT = ("one more than an epoch", "one fewer", "twice, of unknown length", "one and a half")


@pytest.mark.parametrize("data", CUT)
def test_data_that_end_within_an_epoch_give_the_steps_that_single_ones_give(plain, grouped, data):
    seen = grouped.same(data)
    assert seen["Notes"]["iterations"] == seen["Batches"]["iterations"]
    assert seen["Notes"]["losses"] == pytest.approx(seen["Batches"]["losses"], rel=1e-4)
    assert len(seen["Notes"]["iterations"]) == len(plain.facts[0][data]["Notes"]["iterations"])
    assert seen["Notes"]["calls"] < seen["Batches"]["calls"]


@pytest.mark.parametrize("name", ["slow", "slow_line"])
def test_a_group_that_takes_long_pauses_and_loses_nothing(plain, grouped, name):
    # 24 batches of an epoch come every 0.05 s: a group of 0.2 s ends after about four of them, wherever it is.
    slow, stock = grouped.same(name), plain.facts[0][name]
    assert slow["iterations"] == [45, 90, 135]
    assert 4 * 3 < slow["calls"] < 100
    np.testing.assert_allclose(slow["losses"], stock["losses"], rtol=1e-4)
    np.testing.assert_allclose(slow["weights"], stock["weights"], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(slow["line"], stock["line"], rtol=1e-5)
