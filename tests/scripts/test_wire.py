"""Gradients that travel in 16 bits: the workers stay alike, and a thousand steps end where float32 ends."""

from __future__ import annotations

import numpy as np
import pytest

#: Not of the versions of Keras: run on the newest tested ones only.

#: A gradient is rounded once on each worker and once as a sum: by 2**-9 (bfloat16) or 2**-12 (float16) of its value at
#: most, without bias. Measured over these 1,000 steps of Adam: the mean loss of an epoch differs by less than a
#: third of this.
DRIFT = {"bfloat16": 0.01, "float16": 0.002}


@pytest.fixture(scope="module")
def whole(start):
    return start("wire.py", workers=2).ok()


@pytest.fixture(scope="module", params=["bfloat16", "float16"])
def short(request, start):
    return request.param, start("wire.py", workers=3, options=("--wire-dtype", request.param)).ok()


@pytest.mark.support(feature="--wire-dtype", strategy="multi-worker", transport="mpi")
def test_a_thousand_steps_do_not_drift(whole, short):
    dtype, result = short
    assert result.same("steps") == whole.same("steps") == 1000
    np.testing.assert_allclose(result.same("losses"), whole.same("losses"), rtol=DRIFT[dtype])
    assert result.same("losses")[-1] < result.same("losses")[0] / 2
    assert result.same("weights") != whole.same("weights")  # something was rounded


def test_the_workers_hold_the_same_bits(short):
    short[1].same("digest")


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_sums_are_taken_in_float32_and_rounded_once(short, size, request):
    dtype, result = short
    is_right, largest = result.same(f"{dtype} {size}")
    assert is_right
    # TensorFlow's RING adds in 16 bits: every addition rounds
    assert largest <= (2.0**-6 if request.config.getoption("--over-ring") else 0.0)
