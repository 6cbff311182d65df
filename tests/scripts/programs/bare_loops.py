"""Training loops that never combine anything, in every form; what is raised is kept, but for the last."""

import sys

import keras
import numpy as np
import tensorflow as tf
from facts import caught, note, table

x, y = table()
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
raw = tf.Variable(tf.zeros([6, 3]))


def fresh():
    return keras.Sequential([keras.Input([6]), keras.layers.Dense(3)])


def gradients(model):
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x))
    return tape.gradient(loss, model.trainable_variables)


def raw_gradient():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((x @ raw) ** 2)
    return tape.gradient(loss, raw)


def apply_gradients(step):
    model, optimizer = fresh(), keras.optimizers.SGD()
    for _ in range(2):
        step(lambda: optimizer.apply_gradients(zip(gradients(model), model.trainable_variables, strict=True)))


def apply(step):
    model, optimizer = fresh(), keras.optimizers.Adam()
    step(lambda: optimizer.apply(gradients(model), model.trainable_variables))


def assign_sub(step):
    step(lambda: raw.assign_sub(0.1 * raw_gradient()))


def assign(step):
    for _ in range(2):
        step(lambda: raw.assign(raw - 0.1 * raw_gradient()))


def keras_assign(step):
    model = fresh()

    def update():
        for variable, gradient in zip(model.trainable_variables, gradients(model), strict=True):
            variable.assign(variable - 0.1 * gradient)

    for _ in range(2):
        step(update)


def set_weights(step):
    model = fresh()
    for _ in range(2):
        step(
            lambda: model.set_weights([w - 0.1 * g for w, g in zip(model.get_weights(), gradients(model), strict=True)])
        )


def eagerly(function):
    function()


def compiled(function):
    tf.function(function)()


loops = (apply_gradients, apply, assign_sub, assign, keras_assign)
for loop in loops:
    for way in (eagerly, compiled):
        with caught(f"{loop.__name__} {way.__name__}"):
            loop(way)
with caught("set_weights eagerly"):
    set_weights(eagerly)

if "by another way" in sys.argv:
    model = keras.Sequential([keras.Input([6]), keras.layers.Dense(3)])
    kernel = model.layers[0].kernel.value
    for gradient in gradients(model)[:1]:
        tf.raw_ops.ResourceApplyGradientDescent(var=kernel.handle, alpha=0.1, delta=gradient)
    note(reached_the_end=True, finite=bool(np.isfinite(model.get_weights()[0]).all()))
    sys.exit(0)
compiled(lambda: raw.assign(raw - 0.1 * raw_gradient()))
