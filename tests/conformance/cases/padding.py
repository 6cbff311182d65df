"""What is padded to the longest row of its batch, followed by something that does not mask."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

from cases.own_loops import job_strategy
from cases.table import BATCH, Outcome, case, dataset, sgd

layers = keras.layers

#: Batches of 16 leave one row at the end: of 2 replicas one has none.
ROWS = 49
WORDS = [f"w{number}" for number in range(9)]


def _lengths():
    return np.random.default_rng(3).integers(1, 10, size=ROWS)


def _targets():
    return np.random.default_rng(4).normal(size=(ROWS, 1)).astype("float32")


def _sentences():
    rng = np.random.default_rng(2)
    return np.array([" ".join(rng.choice(WORDS, size=length)) for length in _lengths()])


def _ragged():
    rng = np.random.default_rng(2)
    return tf.ragged.constant([rng.integers(0, 5, size=length).tolist() for length in _lengths()], dtype=tf.int32)


def _all_of(model, x, **options):
    """Fits, evaluates and predicts."""
    y = _targets()
    model.compile(sgd(learning_rate=0.02), "mse", **options)
    history = model.fit(dataset(x, y), epochs=2, verbose=0).history
    values = {
        "history": history,
        "evaluate": model.evaluate(dataset(x, y, batch=8), verbose=0),
        "predict": model.predict(dataset(x, batch=16), verbose=0),
    }
    return Outcome(values=values, states=(model,))


def _text_model(*after):
    words = keras.Input((), dtype="string")
    hidden = layers.TextVectorization(vocabulary=WORDS)(words)
    for layer in [layers.Embedding(12, 4, embeddings_initializer="normal"), *after, layers.Dense(1)]:
        hidden = layer(hidden)
    return keras.Model(words, hidden)


@case("padding to a batch's longest row, without a mask", on=("core", "ring", "four", "xla"))
def padded_text():
    return _all_of(_text_model(layers.GRU(3)), _sentences(), steps_per_execution=3)


@case("padding to a batch's longest row, without a mask")
def padded_text_eager():
    return _all_of(_text_model(layers.GlobalAveragePooling1D()), _sentences(), run_eagerly=True)


def _by_sparse(x):
    columns = (x.with_values(x.values[:, place]).to_sparse() for place in range(3))
    return tf.stack([tf.sparse.to_dense(column) for column in columns], axis=-1)


PADS = (
    lambda x: x.to_tensor(),
    lambda x: x.to_tensor(shape=[None, None, 3], default_value=-0.2),
    lambda x: x.to_tensor(shape=tf.stack([x.nrows(), -1, 3])),
    lambda x: keras.ops.convert_to_tensor(x, ragged=False),
    _by_sparse,
)


class Padded(keras.Model):
    """Pads numbers, ragged or in text, in many ways; all that it looks up is negative."""

    def __init__(self):
        super().__init__()
        self.convolution, self.out = layers.Conv1D(4, 3, padding="same"), layers.Dense(1)

    def call(self, x):
        if not isinstance(x, tf.RaggedTensor):
            x = tf.strings.to_number(tf.strings.split(x), tf.int32)
        found = tf.gather(-tf.reshape(tf.range(1.0, 16.0), [5, 3]) / 50.0, x)
        hidden = self.convolution(tf.concat([pad(found) for pad in PADS], axis=-1))
        return self.out(tf.concat([tf.reduce_max(hidden, axis=1), tf.reduce_mean(hidden, axis=1)], axis=1))


class OfSparse(keras.Model):
    """Takes only what is sparse."""

    def __init__(self):
        super().__init__()
        self.out = layers.Dense(1)

    def call(self, x):
        return self.out(tf.ensure_shape(tf.sparse.to_dense(x), [None, 5]))


def _as_text(ragged):
    return tf.strings.reduce_join(tf.strings.as_string(ragged), axis=-1, separator=" ")


@case("padding of text that the model takes apart, without a mask", on=("core", "ring"))
def padded_numbers():
    return _all_of(Padded(), _as_text(_ragged()))


@case("padding of ragged inputs, without a mask", on=("core",))
def padded_ragged():
    return _all_of(Padded(), _ragged(), metrics=["mae"])


@case("ragged and sparse batches of train_on_batch, of a model that Keras builds from them", on=("core",))
def padded_on_batch():
    x, y = _ragged(), _targets()
    model = Padded()
    model.compile(sgd(learning_rate=0.02), "mse", metrics=["mae"])
    logs = [model.train_on_batch(x[start : start + 16], y[start : start + 16]) for start in (0, 16, 32)]
    wide = tf.sparse.from_dense(np.eye(16, 5, dtype="float32"))
    dense = OfSparse()
    dense.compile(sgd(), "mse")
    logs.append([dense.train_on_batch(wide, y[:16]), *model.test_on_batch(x[40:], y[40:])])
    return Outcome(values={"logs": logs, "predict": model.predict_on_batch(x[:7])}, states=(model, dense))


@case("padding to a batch's longest row, of shares of the script's own", on=("core", "ring"))
def padded_own_shares():
    def make(context):
        data = tf.data.Dataset.from_tensor_slices((_as_text(_ragged()), _targets()))
        data = data.shard(context.num_input_pipelines, context.input_pipeline_id)
        return data.batch(context.get_per_replica_batch_size(BATCH))

    model, strategy = Padded(), job_strategy()
    model.compile(sgd(learning_rate=0.02), "mse")
    history = model.fit(strategy.distribute_datasets_from_function(make), epochs=2, verbose=0).history
    return Outcome(values={"history": history}, states=(model,))


class Longest(keras.Model):
    """Its outputs are as long as the longest rows."""

    def call(self, x):
        return x.to_tensor(default_value=-1)


@case("padding to a batch's longest row, in outputs of predict", on=("core", "ring", "four"))
def padded_outputs():
    two_dimensions = tf.RaggedTensor.from_row_lengths(_ragged(), [1 + i % 3 for i in range(15)] + [ROWS - 30])
    given = {"one": dataset(_ragged()), "two": dataset(two_dimensions, batch=5)}
    return Outcome(values={name: [Longest().predict_on_batch(x) for x in data] for name, data in given.items()})


class Masked(keras.Model):
    """Numbers of a row, of which the first few are there; a mean over all places that the mask has."""

    def __init__(self):
        super().__init__()
        self.out = layers.Dense(1)

    def call(self, inputs):
        mask = tf.sequence_mask(inputs["length"])
        there = inputs["x"][:, : tf.shape(mask)[1]] * tf.cast(mask, tf.float32)
        return self.out(tf.reduce_mean(there, axis=1, keepdims=True))


@case("tf.sequence_mask of a batch's longest row", on=("core", "ring"))
def mask_of_longest():
    x = np.random.default_rng(6).normal(size=(ROWS, 9)).astype("float32")
    return _all_of(Masked(), {"x": x, "length": _lengths().astype("int32")})
