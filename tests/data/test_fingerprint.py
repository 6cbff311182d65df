"""The fingerprint of a batch: the same for the same bits, another for another order, content or number of rows."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from paceline.data.fingerprint import fingerprint


def mark(*parts):
    return float(fingerprint([tf.constant(part) for part in parts], tf.constant(len(parts[0]))))


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "int32", "int64", "uint8", "bool", "complex64", "S3"], ids=str
)
def test_equal_batches_have_equal_marks_and_other_rows_another(dtype):
    numbers = np.arange(1, 13).reshape(4, 3) % (2 if dtype == "bool" else 100)
    batch = numbers.astype(dtype)
    other = batch[[1, 0, 2, 3]]
    if dtype == "bool":
        other = ~batch
    assert mark(batch) == mark(batch.copy())
    assert mark(batch) != mark(other)


def test_order_of_rows_content_and_number_are_seen():
    batch = np.random.default_rng(0).normal(size=(8, 5)).astype("float32")
    assert mark(batch) != mark(batch[::-1].copy())
    assert mark(batch) != mark(batch[:7])
    assert mark(batch) != mark(batch + 1)
    assert mark(batch, batch * 2) != mark(batch * 2, batch)


def test_nan_has_a_mark_too():
    batch = np.full((3, 2), np.nan, "float32")
    assert mark(batch) == mark(batch.copy())


@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=9))
def test_marks_are_whole_numbers_whose_sums_are_exact_in_float32(values):
    value = mark(np.array(values, "int32"))
    assert value == int(value)
    assert 0 <= value < 65521
    assert float(np.float32(value) * np.float32(256)) == value * 256
