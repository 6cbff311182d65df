"""The same model with other initial values on each worker: the chief's are taken, and it is told."""

from __future__ import annotations

import numpy as np
import pytest

#: Not of the versions of Keras: run on the newest tested ones only.


@pytest.fixture(scope="module")
def results(start):
    return {n: start("different_values.py", workers=n).ok() for n in (1, 2)}


@pytest.mark.support(feature="initial values that differ between workers", strategy="multi-worker", transport="mpi")
def test_the_chiefs_values_are_taken(results):
    one, two = results[1], results[2]
    assert two.facts[0]["begun"] != two.facts[1]["begun"]
    two.same("digest")
    # float32 sums in another order
    np.testing.assert_allclose(two.facts[1]["weights"], one.facts[0]["weights"], rtol=1e-5, atol=1e-6)


def test_it_is_told(results):
    assert (
        len(results[2].notes(r"the workers began with different values; the chief's are taken for .*head/kernel")) == 1
    )


def test_evaluate_and_predict_take_the_chiefs_from_the_first_batch_on(results):
    # float32 means over rows in another order
    assert results[2].same("evaluated") == pytest.approx(results[1].same("evaluated"), rel=1e-5)
    np.testing.assert_allclose(results[2].same("predicted"), results[1].same("predicted"), rtol=1e-5, atol=1e-6)
    assert len(results[2].notes(r"the chief's are taken for .*looked-at/kernel")) == 1


@pytest.mark.support(
    feature="own loop: initial values that differ between workers", strategy="multi-worker", transport="mpi"
)
def test_an_own_loop_takes_the_chiefs_too(start):
    outcome = start("own_loop_values.py").ok()
    assert outcome.same("weights")
    assert len(outcome.notes(r"loop with Adam: the workers began with different values; .*dense/kernel")) == 1
