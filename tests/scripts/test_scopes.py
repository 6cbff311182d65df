"""Where a model, an optimizer and a compile are made makes no difference."""

from __future__ import annotations

import numpy as np
import pytest

#: Not of the versions of Keras: run on the newest tested ones only.

CASES = ("none", "model", "optimizer", "compile", "model+optimizer", "compile+model", "compile+optimizer",
         "compile+model+optimizer", "fit too", "in a thread")  # fmt: skip


@pytest.fixture(scope="module")
def one(start):
    return start("scopes.py", "reference", workers=1).ok()


@pytest.fixture(scope="module", params=["one worker", "two workers", "two replicas"])
def job(request, start):
    if request.param != "two replicas":
        return start("scopes.py", workers=1 if request.param == "one worker" else 2).ok()
    return start("scopes.py", workers=1, options=("--strategy", "mirrored", "--replicas-per-worker", "2")).ok()


@pytest.mark.support(feature="model, optimizer or compile outside of scope", strategy="multi-worker", transport="mpi")
@pytest.mark.support(feature="model, optimizer or compile outside of scope", strategy="one-device", transport="none")
@pytest.mark.support(
    feature="model, optimizer or compile outside of scope", strategy="mirrored", transport="in-process"
)
@pytest.mark.parametrize("case", CASES)
def test_every_place_trains_alike(one, job, case):
    within = job.facts[0]["results"]
    assert within[case] == within["compile+model+optimizer"]
    # float32 sums in another order: a few units in the last place of values near 1
    np.testing.assert_allclose(within[case], one.facts[0]["results"]["compile+model+optimizer"], rtol=1e-5, atol=1e-6)


def test_workers_are_bit_identical(job):
    job.same("digest")


def test_a_fit_in_a_thread_trains_on(one, job):
    assert job.same("iterations") == one.facts[0]["iterations"] == 4
    np.testing.assert_allclose(job.facts[0]["continued"], one.facts[0]["continued"], rtol=1e-5, atol=1e-6)
    assert job.facts[0]["continued"] != job.facts[0]["results"]["none"]
