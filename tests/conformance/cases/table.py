"""What a case is, and the small models and data that most cases share."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

#: 50 rows in batches of 16: the last batch has 2 rows, so that of 4 replicas two have none.
ROWS, FEATURES, BATCH = 50, 6, 16

TABLE: list[Case] = []


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a case leaves to compare.

    Attributes:
        values: Numbers and arrays by name; nested dicts, lists and tuples are flattened.
        states: Models, optimizers and metrics whose variables are compared.
        own: Values that are meant to differ between workers.
    """

    values: dict[str, Any]
    states: tuple[Any, ...] = ()
    own: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """One row of the table.

    Attributes:
        name: Unique.
        feature: The row of docs/support.md that it proves.
        run: Builds, trains and returns the outcome.
        like_one_device: Whether N replicas give what one device gives; else only workers are compared.
        on: Gangs it runs in besides the full ones ("mirrored", "ring", "four", "xla"); "core": in those with the core
            alone, and on the oldest tested versions.
        rtol: Relative tolerance, see test_conformance.py.
        atol: Absolute tolerance.
        stock_is_wrong: What Keras by itself does wrong here: then one worker is what the others are compared with.
        known: Why it fails today, by gang and property ("mirrored values"); "*" is every gang of several replicas.
        newest_only: Whether it needs more than the oldest tested versions.
        raises: Part of the text of the exception that every worker must raise, where there are several replicas.
    """

    name: str
    feature: str
    run: Callable[[], Outcome]
    like_one_device: bool = True
    on: tuple[str, ...] = ()
    rtol: float = 1e-5
    atol: float = 3e-6
    stock_is_wrong: str = ""
    known: dict[str, str] = dataclasses.field(default_factory=dict)
    newest_only: bool = False
    raises: str = ""


#: Keras 3 runs part of a step before it finds that there are no more data (keras 3.10 to 3.15): the counter of
#: iterations, seeds and moments go on once more in every epoch.
GHOST_STEP = "a step without data at the end of each epoch"


#: Mirrored variables cannot be made inside a step, so the optimizer's are made with the model's, before any training.
EARLY_OPTIMIZER = {"mirrored values": "the optimizer has its variables before it has trained"}


def case(feature: str, **options: Any) -> Callable[[Callable[[], Outcome]], Callable[[], Outcome]]:
    """Puts a function into the table, under its own name."""

    def put(run: Callable[[], Outcome]) -> Callable[[], Outcome]:
        TABLE.append(Case(name=run.__name__, feature=feature, run=run, **options))
        return run

    return put


# -- data ----------------------------------------------------------------------------------------


def regression(rows: int = ROWS, features: int = FEATURES) -> tuple[np.ndarray, np.ndarray]:
    """Returns x `[rows, features]` and y `[rows, 1]`, float32."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(rows, features)).astype("float32")
    y = (x @ rng.normal(size=(features, 1)) + rng.normal(size=(rows, 1))).astype("float32")
    return x, y


def classes(rows: int = ROWS, features: int = FEATURES, count: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Returns x `[rows, features]` float32 and labels `[rows]` int32."""
    x, y = regression(rows, features)
    return x, np.digitize(y[:, 0], np.quantile(y[:, 0], np.arange(1, count) / count)).astype("int32")


def row_weights(rows: int = ROWS) -> np.ndarray:
    """Returns uneven weights `[rows]`, some of them zero."""
    weights = np.random.default_rng(8).uniform(0.1, 3.0, size=rows).astype("float32")
    weights[::7] = 0.0
    return weights


def dataset(*parts: Any, batch: int = BATCH) -> tf.data.Dataset:
    """Returns batches of (x, y[, weights])."""
    return tf.data.Dataset.from_tensor_slices(parts if len(parts) > 1 else parts[0]).batch(batch)


# -- models --------------------------------------------------------------------------------------


def mlp(*, outputs: int = 1, activation: str | None = None, **first: Any) -> keras.Model:
    """Returns a Functional model of two dense layers; `first` goes to the first one."""
    x = keras.Input((FEATURES,))
    hidden = keras.layers.Dense(8, activation="tanh", **first)(x)
    return keras.Model(x, keras.layers.Dense(outputs, activation=activation)(hidden))


def sgd(**options: Any) -> keras.optimizers.Optimizer:
    """Returns SGD with momentum."""
    return keras.optimizers.SGD(**{"learning_rate": 0.05, "momentum": 0.9, **options})


# -- training ------------------------------------------------------------------------------------


def train(model: keras.Model, x: Any, y: Any = None, *, states: tuple[Any, ...] = (), **fit: Any) -> Outcome:
    """Fits a compiled model for two epochs, in order, and returns what there is to compare."""
    options = {"epochs": 2, "verbose": 0, "shuffle": False, **fit}
    if "batch_size" not in options and isinstance(tf.nest.flatten(x)[0], np.ndarray):
        options["batch_size"] = BATCH
    history = model.fit(x, y, **options)
    return Outcome(values={"history": history.history}, states=(model, *states))


def fit_mlp(optimizer: Any, *, loss: Any = "mse", **options: Any) -> Outcome:
    """Fits the small regression with an optimizer."""
    model = mlp()
    model.compile(optimizer, loss, metrics=["mae"])
    return train(model, *regression(), **options)


def with_values(outcome: Outcome, **values: Any) -> Outcome:
    """Returns the outcome with more values to compare."""
    return dataclasses.replace(outcome, values={**outcome.values, **values})
