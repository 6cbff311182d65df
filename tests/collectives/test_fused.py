"""What is packed comes out as it went in, whatever its shapes and dtypes."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from paceline.collectives.fused import pack, sum_dense, unpack

DTYPES = ("float32", "float64", "int64", "int32")
SHAPES = st.lists(st.integers(0, 4), max_size=3)


@given(st.lists(st.tuples(SHAPES, st.sampled_from(DTYPES)), max_size=8), st.sampled_from([0, 1, 40, 10_000]))
def test_tensors_come_back_in_order(kinds, bucket_bytes):
    values = [np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype) + 1 for shape, dtype in kinds]
    tensors = [tf.constant(value) for value in values]
    buffers, pieces = pack(tensors, bucket_bytes=bucket_bytes)
    assert all(buffer.shape.rank == 1 for buffer in buffers)
    for value, back in zip(values, unpack(buffers, pieces), strict=True):
        assert back.dtype == value.dtype and np.array_equal(back, value)


def test_one_buffer_for_each_dtype():
    tensors = [tf.ones([3]), tf.ones([2, 2]), tf.ones([], tf.int64), tf.ones([5])]
    buffers, _ = pack(tensors)
    assert [(b.dtype, b.shape[0]) for b in buffers] == [(tf.float32, 12), (tf.int64, 1)]


def test_buckets_are_filled_from_the_last_tensor():
    tensors = [tf.fill([4], float(i)) for i in range(5)]  # 16 bytes each
    buffers, pieces = pack(tensors, bucket_bytes=32)
    assert [sorted(set(b.numpy())) for b in buffers] == [[3.0, 4.0], [1.0, 2.0], [0.0]]
    assert [piece.buffer for piece in pieces] == [2, 1, 1, 0, 0]


def test_what_travels_short_comes_back_long():
    value = tf.constant([1.0, 1.0 + 2**-12])
    buffers, pieces = pack([value, value], [tf.float16, tf.float32])
    assert [b.dtype for b in buffers] == [tf.float16, tf.float32]
    short, whole = unpack(buffers, pieces)
    assert short.dtype == tf.float32
    np.testing.assert_array_equal(short, [1.0, 1.0])
    np.testing.assert_array_equal(whole, value)


@pytest.mark.parametrize("compiled", [False, True])
def test_pieces_of_known_shapes_leave_the_function(compiled):
    kept = []

    @tf.function(jit_compile=compiled)
    def first(a, b):
        buffers, pieces = pack([a, b])
        kept[:] = pieces
        return buffers

    @tf.function(jit_compile=compiled)
    def second(buffers):
        return unpack(buffers, kept)

    a, b = tf.random.normal([2, 3]), tf.random.normal([4])
    for value, back in zip([a, b], second(first(a, b)), strict=True):
        np.testing.assert_array_equal(value, back)


def test_shapes_that_are_known_late():
    @tf.function(input_signature=[tf.TensorSpec([None, 2]), tf.TensorSpec([3])])
    def doubled(a, b):
        return sum_dense([a, b], lambda buffer: buffer * 2)

    for rows in (0, 1, 5):
        a, b = doubled(tf.ones([rows, 2]), tf.ones([3]))
        assert a.shape == (rows, 2) and np.all(a == 2) and np.all(b == 2)
