"""Long trainings of dense layers, in each of which something is the script's own, or an operation XLA does not know."""

import keras
import numpy as np
import tensorflow as tf
from facts import note

from paceline.training import jit, pace

layers, ops = keras.layers, keras.ops


def own_python(tensor):
    return tf.ensure_shape(tf.numpy_function(lambda array: array * np.float32(1.0), [tensor], tf.float32), tensor.shape)


def own_number(*tensors):
    return tf.ensure_shape(tf.numpy_function(lambda array: np.float32(0.0), [tensors[0]], tf.float32), [])


class OwnSchedule(keras.optimizers.schedules.LearningRateSchedule):
    def __call__(self, step):
        return own_number(step) + 0.01


class OwnSGD(keras.optimizers.SGD):
    pass


def model_of(*, optimizer="sgd", metrics=(), loss="mse", between=None, **dense):
    x = keras.Input((8,))
    hidden = layers.Dense(8, **{"activation": "relu", **dense})(x)
    model = keras.Model(x, layers.Dense(1)(hidden if between is None else between(hidden)))
    model.compile(optimizer, loss, metrics=list(metrics))
    return model


def resized(h):
    return ops.reshape(ops.image.resize(ops.reshape(h, (-1, 2, 2, 2)), (2, 2), interpolation="lanczos3"), (-1, 8))


KINDS = {
    "plain": lambda: model_of(metrics=["mae", keras.metrics.RootMeanSquaredError()]),
    "adam": lambda: model_of(optimizer=keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(0.01, 500))),
    "own activation": lambda: model_of(activation=own_python),
    "own regularizer": lambda: model_of(kernel_regularizer=own_number),
    "own constraint": lambda: model_of(kernel_constraint=own_python),
    "own metric": lambda: model_of(metrics=[own_number]),
    "own loss": lambda: model_of(loss=lambda y, p: tf.reduce_mean(tf.square(y - p)) + own_number(y)),
    "own schedule": lambda: model_of(optimizer=keras.optimizers.SGD(OwnSchedule())),
    "own optimizer": lambda: model_of(optimizer=OwnSGD()),
    "operation": lambda: model_of(between=resized),
}

data = tf.data.Dataset.from_tensor_slices((np.ones((24, 8), "float32"), np.ones((24, 1), "float32")))
data = data.batch(8).filter(lambda x, y: True)
results = {}
for name, make in KINDS.items():
    model = make()
    loop = pace.Loop(pace.Pace(int))
    loop.has_fixed_shapes = True
    choice = jit.choose(model, model.distribute_strategy.extended.step_options, loop)
    history = model.fit(data, epochs=2, verbose=0)
    results[name] = [choice.use, choice.reason, len(history.history["loss"])]
note(results=results)
