"""Which errors come from a step that counts on all rows of a batch: told from what TensorFlow and Keras say."""

import keras
import pytest
import tensorflow as tf

from paceline.errors import add_note
from paceline.training import progress
from paceline.training.own_size import counts_on_all, hinted

ROWS, TOTAL = 8, 16


LAYER = keras.layers.Dense(3)
LAYER.build([None, 6])


#: Steps on `x [rows, 6]` that are right with 16 rows, and fail with 8.
COUNTS = {
    "reshape": lambda x: tf.reshape(x, [TOTAL, 6]) + 0.0,
    "reshape to a multiple": lambda x: tf.reshape(x, [TOTAL, 6, -1]),
    "a sum": lambda x: x + tf.ones([TOTAL, 6]),
    "concat": lambda x: tf.concat([x, tf.ones([TOTAL, 1])], 1),
    "labels of a GAN": lambda x: keras.losses.BinaryCrossentropy()(
        tf.ones([2 * TOTAL, 6]), tf.concat([x, tf.zeros([TOTAL, 6])], 0)
    ),
    "logits": lambda x: tf.nn.softmax_cross_entropy_with_logits(tf.ones([TOTAL, 6]), x),
    "a loss of Keras": lambda x: keras.losses.SparseCategoricalCrossentropy()(tf.ones([TOTAL]), x),
    "an error of Keras": lambda x: keras.losses.MeanSquaredError()(tf.ones([TOTAL, 6]), x),
    "weights": lambda x: keras.losses.MeanSquaredError()(x, x, sample_weight=tf.ones([TOTAL])),
    "gather": lambda x: tf.gather(x, tf.range(TOTAL)),
    "an index": lambda x: x[TOTAL - 1],
    "scatter": lambda x: tf.tensor_scatter_nd_update(x, [[12]], tf.ones([1, 6])),
    "slice": lambda x: tf.slice(x, [0, 0], [TOTAL, 6]),
    "unstack": lambda x: tf.unstack(x, TOTAL),
    "split": lambda x: tf.split(x, TOTAL),
    "ensure_shape": lambda x: tf.ensure_shape(x, [TOTAL, 6]),
    "where": lambda x: tf.where(tf.ones([TOTAL, 6]) > 0, x, x),
    "stack": lambda x: tf.stack([x, tf.ones([TOTAL, 6])]),
    "conv2d_transpose": lambda x: tf.nn.conv2d_transpose(
        tf.reshape(x, [-1, 1, 6, 1]), tf.ones([3, 3, 2, 1]), [TOTAL, 2, 12, 2], 2
    ),
    "einsum": lambda x: tf.einsum("bi,bj->ij", x, tf.ones([TOTAL, 3])),
    "matmul of rows": lambda x: tf.matmul(x[:, :, None], tf.ones([TOTAL, 1, 3])),
    "rows for columns": lambda x: LAYER(tf.reshape(x, [TOTAL, -1])),
    "broadcast_to": lambda x: tf.broadcast_to(x, [TOTAL, 6]),
    "Concatenate": lambda x: keras.layers.Concatenate()([x, tf.ones([TOTAL, 1])]),
    "Add": lambda x: keras.layers.Add()([x, tf.ones([TOTAL, 6])]),
}
#: Steps that are wrong with any number of rows, some with numbers that are those of the rows.
WRONG = {
    "columns": lambda x: tf.concat([x] * 3, 1)[:, :TOTAL] + tf.concat([x] * 2, 1)[:, :ROWS],
    "columns of a layer": lambda x: LAYER(tf.concat([x] * 8, 1)[:, :TOTAL]),
    "columns of a product": lambda x: tf.matmul(x, tf.ones([TOTAL, 3])),
    "columns of concat": lambda x: tf.concat([x, tf.ones([TOTAL, 5])], 0),
    "an index of columns": lambda x: x[:, 12],
    "axes": lambda x: tf.matmul(x, tf.ones([3])),
    "other rows": lambda x: x + tf.ones([5, 6]),
    "an assertion": lambda x: tf.raw_ops.CheckNumerics(tensor=x / 0.0, message="8 and 16"),
    "a vocabulary": lambda x: tf.gather(tf.ones([10, 3]), tf.cast(x * 12, tf.int32)),
    "reshape of columns": lambda x: tf.reshape(x, [-1, 7]),
}


def said(step, rows):
    function = tf.function(step, input_signature=[tf.TensorSpec([rows, 6])], autograph=False)
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)) as caught:
        function(tf.ones([ROWS, 6]))
    return str(caught.value)


# TensorFlow leaves out a reshape whose sizes it does not know.
@pytest.mark.parametrize(
    ("name", "known"), [(name, known) for name in COUNTS for known in (True, False) if known or name != "reshape"]
)
def test_a_step_that_counts_on_all_rows_is_told(name, known):
    text = said(COUNTS[name], ROWS if known else None)
    assert counts_on_all(text, ROWS, TOTAL), text
    assert not counts_on_all(text, 20, 40), text  # a batch of another size


@pytest.mark.parametrize("known", [True, False], ids=["traced", "run"])
@pytest.mark.parametrize("name", WRONG)
def test_a_step_that_is_wrong_with_any_rows_is_not(name, known):
    text = said(WRONG[name], ROWS if known else None)
    assert not counts_on_all(text, ROWS, TOTAL), text


def test_three_replicas():
    assert counts_on_all("Incompatible shapes: [12,1] vs. [4,1]", 4, 12)
    assert counts_on_all("Incompatible shapes: [16,1] vs. [24,1]", 4, 12)
    assert not counts_on_all("Incompatible shapes: [6,1] vs. [12,1]", 4, 12)


@pytest.mark.parametrize(("replicas", "total", "is_told"), [(2, 16, True), (1, 16, False), (2, 20, False)])
def test_the_rows_are_those_of_the_step_that_ran(replicas, total, is_told):
    progress.noted_rows_of_batch(tf.constant(total))
    with pytest.raises(ValueError, match="vs") as caught, hinted(replicas):
        raise ValueError("[8] vs. [16]")
    assert bool(getattr(caught.value, "__notes__", None)) == is_told and str(caught.value) == "[8] vs. [16]"


def test_a_note_is_added_once():
    error = ValueError("wrong")
    add_note(error, "why")
    add_note(error, "why")
    assert error.__notes__ == ["why"] and str(error) == "wrong"
