"""Structures of inputs and outputs: dicts, tuples, ragged and sparse tensors."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

from cases.table import FEATURES, Outcome, case, classes, dataset, mlp, regression, row_weights, sgd, train, with_values

layers = keras.layers


def _two_in_two_out():
    a, b = keras.Input((FEATURES,), name="a"), keras.Input((3,), name="b")
    hidden = layers.Concatenate()([layers.Dense(4)(a), layers.Dense(4)(b)])
    outputs = {
        "value": layers.Dense(1, name="value")(hidden),
        "kind": layers.Dense(3, activation="softmax", name="kind")(hidden),
    }
    return keras.Model({"a": a, "b": b}, outputs)


@case("dicts of inputs and outputs", on=("mirrored", "ring"))
def dict_inputs_and_outputs():
    x, y = regression()
    model = _two_in_two_out()
    model.compile(
        sgd(),
        {"value": "mse", "kind": "sparse_categorical_crossentropy"},
        loss_weights={"value": 0.5, "kind": 1.5},
        metrics={"value": ["mae"], "kind": ["accuracy"]},
    )
    inputs, targets = {"a": x, "b": x[:, :3]}, {"value": y, "kind": classes()[1]}
    outcome = train(model, inputs, targets, validation_split=0.2)
    predicted = model.predict(inputs, batch_size=16, verbose=0)
    return with_values(
        outcome, predict=predicted, evaluate=model.evaluate(inputs, targets, verbose=0, return_dict=True)
    )


@case("tuples of inputs and outputs", on=("four",))
def tuple_inputs_and_outputs():
    x, y = regression()
    a, b = keras.Input((FEATURES,)), keras.Input((3,))
    hidden = layers.Concatenate()([a, b])
    model = keras.Model((a, b), (layers.Dense(1)(hidden), layers.Dense(2)(hidden)))
    model.compile(sgd(), ("mse", "mae"))
    outcome = train(model, dataset((x, x[:, :3]), (y, x[:, :2])))
    predicted = model.predict((x, x[:, :3]), batch_size=16, verbose=0)
    return with_values(outcome, predict=predicted, kinds=[len(predicted)])


class Ragged(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1)

    def call(self, x):
        return self.dense(tf.reduce_sum(tf.gather(tf.reshape(tf.range(15.0), [5, 3]), x), axis=1) / 10.0)


def _ragged(rows=50):
    rng = np.random.default_rng(7)
    return tf.ragged.constant([rng.integers(0, 5, size=1 + i % 4).tolist() for i in range(rows)], dtype=tf.int32)


@case("ragged inputs", on=("ring",))
def ragged_input():
    model = Ragged()
    model.compile(sgd(learning_rate=0.01), "mse")
    outcome = train(model, dataset(_ragged(), regression()[1]))
    return with_values(outcome, predict=model.predict(dataset(_ragged()), verbose=0))


@case("ragged outputs of predict", on=("ring",))
def ragged_output():
    class Doubles(keras.Model):
        def call(self, x):
            return {"twice": x * 2, "rows": tf.reduce_sum(x, axis=1)}

    predicted = Doubles().predict(dataset(_ragged()), verbose=0)
    twice = predicted["twice"]
    return Outcome(values={"values": twice.values, "lengths": twice.row_lengths(), "rows": predicted["rows"]})


@case("sparse inputs")
def sparse_input():
    x, y = regression()
    x[x < 0] = 0
    sparse = tf.sparse.from_dense(x)
    inputs = keras.Input((FEATURES,), sparse=True)
    model = keras.Model(inputs, layers.Dense(1)(inputs))
    model.compile(sgd(), "mse")
    return train(model, dataset(sparse, y))


@case("sample weights in the dataset")
def dataset_with_weights():
    model = mlp()
    model.compile(sgd(), "mse", weighted_metrics=["mae"])
    x, y = regression()
    return train(model, dataset(x, y, row_weights()), validation_data=dataset(x, y, row_weights()))


@case("train_on_batch, test_on_batch, predict_on_batch", on=("mirrored", "ring"))
def on_batch():
    x, y = regression()
    model = mlp()
    model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
    logs = [model.train_on_batch(x[i : i + 16], y[i : i + 16], return_dict=True) for i in (0, 16, 32, 48)]
    weighted = model.train_on_batch(x, y, sample_weight=row_weights())
    tested = [model.test_on_batch(x[:5], y[:5]), model.test_on_batch(x[:1], y[:1], return_dict=True)]
    predicted = [model.predict_on_batch(x[:7]), model.predict_on_batch(x[:1])]
    return Outcome(values={"train": logs, "weighted": weighted, "test": tested, "predict": predicted}, states=(model,))


@case("train_on_batch, test_on_batch, predict_on_batch")
def on_batch_of_a_deferred_model():
    x, _ = regression()
    model = keras.Sequential([layers.Dense(4), layers.Dense(3, activation="softmax")])
    model.compile(sgd(), "sparse_categorical_crossentropy", metrics=["accuracy"])
    logs = [model.train_on_batch(x, classes()[1], class_weight={0: 1.0, 1: 2.0, 2: 0.5}) for _ in range(2)]
    return Outcome(values={"train": logs}, states=(model,))


@case("evaluate and predict in order", on=("mirrored", "ring"))
def evaluate_and_predict():
    x, y = regression(rows=37)
    model = mlp()
    model.compile(sgd(), "mse", metrics=["mae"], steps_per_execution=2)
    return Outcome(
        values={
            "dict": model.evaluate(x, y, batch_size=8, verbose=0, return_dict=True),
            "list": model.evaluate(dataset(x, y, batch=5), verbose=0),
            "steps": model.evaluate(dataset(x, y, batch=5), steps=3, verbose=0),
            "weighted": model.evaluate(x, y, sample_weight=row_weights(37), verbose=0),
            "arrays": model.predict(x, batch_size=8, verbose=0),
            "dataset": model.predict(dataset(x, batch=3), verbose=0),
            "predict steps": model.predict(dataset(x, batch=3), steps=2, verbose=0),
        },
    )
