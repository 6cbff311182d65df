import itertools

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.data import rows
from paceline.data.own_share import stand_in
from paceline.data.share import bounds, cut_rows, slice_rows, take_share, total_rows
from paceline.errors import ScriptRefused

counts = st.integers(min_value=1, max_value=5000)


@given(total=st.integers(min_value=0, max_value=2**31 - 1), count=counts)
def test_shares_are_disjoint_complete_and_in_order(total, count):
    shares = [bounds(total, index, count) for index in range(count)]
    assert shares[0][0] == 0
    assert shares[-1][1] == total
    assert all(end == begin for (_, end), (begin, _) in itertools.pairwise(shares))


@given(total=st.integers(min_value=0, max_value=2**31 - 1), count=counts)
def test_shares_differ_by_one_row_at_most(total, count):
    sizes = {end - begin for begin, end in (bounds(total, index, count) for index in range(count))}
    assert max(sizes) - min(sizes) <= 1


@settings(max_examples=30, deadline=None)
@given(total=st.integers(min_value=1, max_value=2_000_000_000), count=st.integers(min_value=1, max_value=64))
def test_bounds_of_tensors_are_those_of_numbers(total, count):
    for index in {0, count // 2, count - 1}:
        assert [int(b) for b in bounds(tf.constant(total), index, count)] == list(bounds(total, index, count))


def ragged(rows):
    return tf.RaggedTensor.from_row_lengths(tf.range(rows * (rows + 1) // 2), tf.range(1, rows + 1))


@settings(max_examples=25, deadline=None)
@given(rows=st.integers(min_value=1, max_value=12), count=st.integers(min_value=1, max_value=15))
def test_the_shares_of_a_batch_are_the_batch(rows, count):
    dense = np.arange(rows * 2).reshape(rows, 2)
    batch = {"dense": tf.constant(dense), "ragged": ragged(rows), "sparse": tf.sparse.from_dense(dense), "none": None}
    shares = [take_share((batch, tf.constant(3.0)), index, count) for index in range(count)]
    assert sum(int(share.rows) for share in shares) == rows
    assert {int(share.total) for share in shares} == {rows}
    parts = [share.data[0] for share in shares]
    cut = [
        {k: cut_rows(v, share.rows) for k, v in part.items() if v is not None}
        for part, share in zip(parts, shares, strict=True)
    ]
    np.testing.assert_array_equal(tf.concat([part["dense"] for part in cut], 0), dense)
    np.testing.assert_array_equal(tf.sparse.to_dense(tf.sparse.concat(0, [part["sparse"] for part in cut])), dense)
    assert tf.concat([part["ragged"] for part in cut], 0).to_list() == batch["ragged"].to_list()
    assert all(part["none"] is None for part in parts)
    assert {float(share.data[1]) for share in shares} == {3.0}


def test_a_replica_without_rows_sees_one_that_does_not_count():
    share = take_share(tf.constant([[7.0, 8.0]]), 0, 2)
    assert int(share.rows) == 0
    np.testing.assert_array_equal(share.data, [[7.0, 8.0]])


def test_parts_of_different_length_are_refused():
    with pytest.raises(ScriptRefused, match="first part has 4 rows, and another part 3"):
        take_share((tf.zeros([4, 1]), tf.zeros([3, 1])), 0, 2)


def test_parts_whose_length_only_a_running_graph_knows_are_refused_in_the_same_words():
    shares = tf.data.Dataset.zip((tf.data.Dataset.range(8).batch(4), tf.data.Dataset.range(8).batch(3)))
    shares = shares.map(lambda *parts: tuple(take_share(parts, 0, 2).data))
    with pytest.raises(ScriptRefused, match="first part has 4 rows, and another part 3"), rows.in_words():
        next(iter(shares))


def test_other_errors_of_a_graph_stay_what_they_are():
    with pytest.raises(tf.errors.InvalidArgumentError), rows.in_words():
        tf.debugging.assert_equal(1, 2)


def test_a_batch_without_rows_is_refused():
    with pytest.raises(ValueError, match="at least one part"):
        total_rows((tf.constant(1.0), None))


def test_what_has_no_rows_stays_whole():
    assert float(slice_rows(tf.constant(2.0), 0, 1, 4)) == 2.0
    assert slice_rows(None, 0, 1, 4) is None


@pytest.mark.parametrize(
    "spec",
    [
        tf.TensorSpec([None, 3], tf.float32),
        tf.TensorSpec([None], tf.string),
        tf.RaggedTensorSpec([None, None], tf.int32),
        tf.RaggedTensorSpec([None, None], tf.string),
    ],
)
def test_a_stand_in_is_one_row_that_the_spec_accepts(spec):
    made = stand_in({"a": spec})["a"]
    assert spec.is_compatible_with(made)
    assert int(total_rows(made)) == 1


def test_a_sparse_stand_in_is_one_empty_row():
    made = stand_in(tf.SparseTensorSpec([None, 4], tf.float32))
    assert made.dense_shape.numpy().tolist() == [1, 4]
