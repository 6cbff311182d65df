"""Sizes of batches, and how many steps there are."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

from cases.table import case, dataset, fit_mlp, mlp, regression, sgd, train, with_values


@case("batch smaller than the number of replicas", on=("core",))
def batch_of_one():
    model = mlp()
    model.compile(sgd(learning_rate=0.01), "mse", metrics=["mae"])
    x, y = regression(rows=7)
    outcome = train(model, x, y, batch_size=1, validation_data=(x, y))
    return with_values(outcome, predict=model.predict(x, batch_size=1, verbose=0))


@case("batch smaller than the number of replicas", on=("four",))
def batch_of_three():
    model = mlp()
    model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
    return train(model, *regression(rows=13), batch_size=3)


@case("shuffled arrays", on=("core",))
def shuffled_arrays():
    return fit_mlp(sgd(), shuffle=True)


@case("validation_split, validation_freq")
def validation_split():
    return fit_mlp(sgd(), validation_split=0.3, validation_freq=2, epochs=4)


@case("validation_data")
def validation_data_batched():
    return fit_mlp(sgd(), validation_data=regression(rows=21), validation_batch_size=5, validation_steps=3)


@case("steps_per_execution", on=("core",))
def steps_per_execution():
    return _executions(2)


@case("steps_per_execution")
def steps_per_execution_not_dividing():
    return _executions(3)


def _executions(steps):
    model = mlp()
    optimizer = keras.optimizers.Adam(0.01)
    model.compile(optimizer, "mse", metrics=["mae"], steps_per_execution=steps)
    seen = []
    logs = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: seen.append([batch, float(logs["loss"])])
    )
    outcome = train(model, *regression(), callbacks=[logs], validation_data=regression(rows=21))
    return with_values(outcome, iterations=optimizer.iterations, batches=seen)


@case("steps_per_execution")
def steps_per_execution_infinite():
    model = mlp()
    model.compile(sgd(), "mse", steps_per_execution=4)
    outcome = train(model, dataset(*regression()).repeat(), steps_per_epoch=6)
    return with_values(outcome, iterations=model.optimizer.iterations)


@case("run_eagerly", on=("core",))
def run_eagerly():
    model = mlp()
    model.compile(sgd(), "mse", metrics=["mae"], run_eagerly=True)
    x, y = regression(rows=18)
    outcome = train(model, x, y, validation_data=(x, y))
    return with_values(outcome, predict=model.predict(x, batch_size=16, verbose=0))


@case("run_eagerly")
def run_eagerly_many_steps():
    model = mlp()
    model.compile(
        sgd(global_clipnorm=0.1, gradient_accumulation_steps=2), "mse", run_eagerly=True, steps_per_execution=2
    )
    return train(model, *regression(rows=34))


@case("jit_compile=True")
def jit_compile():
    model = mlp()
    model.compile(sgd(), "mse", metrics=["mae"], jit_compile=True)
    return train(model, *regression())


@case("float64 and integer data")
def other_dtypes():
    x, y = regression()
    model = mlp()
    model.compile(sgd(learning_rate=0.001), "mse", metrics=["mae"])
    return train(model, np.round(x * 4).astype("int64"), y.astype("float64"))


@case("scalars in the batch")
def scalar_in_the_batch():
    class Scales(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(1)

        def call(self, inputs):
            return self.dense(inputs["x"]) * inputs["z"]

    x, y = regression()
    data = dataset(x, y).map(lambda a, b: ({"x": a, "z": tf.constant(0.5)}, b))
    model = Scales()
    model.compile(sgd(), "mse")
    return train(model, data)
