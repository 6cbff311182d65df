"""What the graph of a step says of losses: mean over rows, sum, neither."""

import keras
import pytest
import tensorflow as tf
from keras import ops

from paceline.training.growth import COUNT, FIXED, MEAN, SUM, Form, Growths

WEIGHTS = tf.Variable(tf.ones([4, 3]))
#: So large that a graph does not copy it (128 numbers and more).
TABLE = tf.ones([200, 4])


def _growth(function):
    found = []

    @tf.function
    def trace(x):
        growths = Growths([x])
        found.append(growths.of(function(x)))

    trace.get_concrete_function(tf.TensorSpec([None, 4]))
    return found[0]


def _rows(x):
    return tf.cast(tf.shape(x)[0], tf.float32)


def _sequences(x):
    return tf.reshape(x, [-1, 2, 2])


@pytest.fixture(scope="module")
def layer():
    built = {
        "dense": keras.layers.Dense(3),
        "norm": keras.layers.BatchNormalization(),
        "drop": keras.layers.Dropout(0.5),
        "lstm": keras.layers.LSTM(3),
        "attention": keras.layers.MultiHeadAttention(2, 3),
    }
    built["dense"].build((None, 4))
    built["norm"].build((None, 4))
    built["lstm"](tf.ones([1, 2, 2]))
    built["attention"](tf.ones([1, 2, 2]), tf.ones([1, 2, 2]))
    return built


@pytest.mark.parametrize(
    "loss",
    [
        lambda x, _: tf.reduce_mean(tf.square(x @ WEIGHTS)),
        lambda x, _: -2.0 * tf.reduce_mean(tf.reduce_sum(x, axis=1)),
        lambda x, _: tf.reduce_mean(x) + 0.1 * tf.nn.l2_loss(WEIGHTS),
        lambda x, _: tf.reduce_sum(x) / _rows(x),
        lambda x, _: tf.reduce_sum(x) * (1.0 / _rows(x)),
        lambda x, _: tf.reduce_sum(x) / tf.cast(tf.size(x), tf.float32),
        lambda x, _: tf.reduce_sum(x) / tf.cast(tf.reduce_prod(tf.concat([tf.shape(x)[:1], [4]], axis=0)), tf.float32),
        lambda x, _: ops.sum([ops.mean(x), ops.mean(ops.square(x))]),
        lambda x, _: ops.mean(keras.losses.mean_squared_error(x, ops.zeros_like(x))),
        lambda x, _: keras.losses.MeanSquaredError()(x, tf.zeros_like(x)),
        lambda x, _: keras.losses.BinaryCrossentropy()(tf.ones((tf.shape(x)[0], 1)), x[:, :1]),
        lambda x, _: tf.reduce_mean(tf.concat([x, tf.random.normal(tf.shape(x))], axis=0)),
        lambda x, of: tf.reduce_mean(of["dense"](keras.random.normal((tf.shape(x)[0], 4)))),
        lambda x, of: tf.reduce_mean(of["norm"](x, training=True)),
        lambda x, of: tf.reduce_mean(of["drop"](x, training=True)),
        lambda x, of: tf.reduce_mean(of["lstm"](_sequences(x))),
        lambda x, of: tf.reduce_mean(of["attention"](_sequences(x), _sequences(x))),
    ],
)
def test_means(loss, layer):
    assert _growth(lambda x: loss(x, layer)) == MEAN


@pytest.mark.parametrize(
    "loss",
    [
        lambda x, _: tf.reduce_sum(tf.square(x @ WEIGHTS)),
        lambda x, _: tf.reduce_sum(x) / 16.0,
        lambda x, _: tf.reduce_mean(x) * _rows(x),
        lambda x, _: tf.nn.l2_loss(x),
        lambda x, _: tf.nn.compute_average_loss(tf.reduce_sum(x, axis=1), global_batch_size=16),
        lambda x, of: tf.reduce_sum(of["dense"](tf.random.normal((tf.shape(x)[0], 4)))),
        lambda x, _: tf.reduce_sum(x, axis=0),
        lambda x, _: tf.matmul(x, x, transpose_a=True),
    ],
)
def test_sums(loss, layer):
    assert _growth(lambda x: loss(x, layer)) == SUM


@pytest.mark.parametrize(
    "loss",
    [
        lambda x: tf.sqrt(tf.reduce_mean(x)),
        lambda x: tf.reduce_sum(x * x) / tf.reduce_sum(x),
        tf.reduce_max,
        tf.math.reduce_std,
        lambda x: tf.reduce_sum(x) + 0.1 * tf.nn.l2_loss(WEIGHTS),
        lambda x: tf.reduce_mean(tf.nn.softmax(tf.matmul(x, x, transpose_b=True))),
        lambda x: ops.mean(ops.matmul(x, ops.transpose(x))),
        lambda x: tf.reduce_mean(tf.einsum("ad,bd->ab", x, x)),
        lambda x: tf.reduce_mean(tf.math.top_k(x[:, 0], 2)[0]),
        lambda x: tf.reduce_mean(x) / _rows(x),
        lambda x: tf.reduce_mean(tf.square(x[:, :1] - x[:, 0])),
        lambda x: tf.reduce_mean(tf.cast(tf.equal(x[:, :1], tf.transpose(x[:, :1])), tf.float32)),
    ],
)
def test_what_is_of_a_whole_batch(loss):
    assert _growth(loss).is_whole


def test_what_is_the_same_on_every_replica():
    for same in (
        lambda _: tf.reduce_sum(WEIGHTS * WEIGHTS),
        lambda x: tf.range(tf.shape(x)[-1]),
        lambda x: tf.shape(x)[1] * 2,
        lambda x: tf.expand_dims(ops.arange(ops.shape(x)[1]), 0),
        lambda _: TABLE * 2.0,
        lambda _: tf.cond(tf.reduce_sum(WEIGHTS) > 0, lambda: WEIGHTS * 2.0, lambda: WEIGHTS + 1.0),
    ):
        assert _growth(same) == FIXED
    assert _growth(lambda x: tf.shape(x)[0]) == _growth(_rows) == COUNT


def test_what_a_call_draws_is_not_the_same_on_every_replica():
    assert _growth(lambda _: tf.cond(WEIGHTS[0, 0] > 0, lambda: tf.random.normal([3]), lambda: tf.ones([3]))) != FIXED
    assert _growth(lambda _: tf.function(lambda: tf.random.normal([3]))()) != FIXED


def test_what_has_a_row_for_each():
    for by_row in (
        lambda x: tf.reduce_sum(x, axis=-1),
        lambda x: tf.range(tf.shape(x)[0]),
        lambda x: x - tf.reduce_mean(x, axis=0),
        lambda x: tf.RaggedTensor.from_row_lengths(x[:, 0], tf.cast(x[:, 1], tf.int64)).to_tensor(),
        lambda x: tf.gather(WEIGHTS, tf.unique(tf.cast(x[:, 0], tf.int32))[0]),
        lambda x: tf.fill([tf.shape(x)[0], 3], 1.0),
        lambda x: x + tf.gather(TABLE, tf.cast(x[:, 0], tf.int32)),
        lambda x: tf.expand_dims(x[:, 0], 1) - x[:, 1:2],
    ):
        assert _growth(by_row).form is Form.PER_ROW


def test_nobody_knows_outside_of_graphs():
    assert Growths().of(tf.constant(1.0)) is None
    assert Growths().of(1.0) is None


def test_a_loop_of_the_first_tensorflow_ends():
    with tf.Graph().as_default():
        tf.compat.v1.disable_control_flow_v2()
        try:
            x = tf.compat.v1.placeholder(tf.float32, [None, 4])
            (looped,) = tf.while_loop(lambda y: tf.reduce_sum(y) < 9.0, lambda y: [y + 1.0], [x])
            assert Growths([x]).of(tf.reduce_mean(looped)) == MEAN
        finally:
            tf.compat.v1.enable_control_flow_v2()
