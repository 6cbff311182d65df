"""Optimizers: clipping, accumulation, averages, schedules and loss scales act on the aggregate."""

from __future__ import annotations

import keras
import numpy as np

from cases.table import ROWS, Outcome, case, classes, fit_mlp, mlp, regression, sgd, train, with_values

optimizers = keras.optimizers


@case("SGD with momentum", on=("four", "xla"))
def sgd_momentum():
    return fit_mlp(sgd())


@case("Adam", on=("four", "xla"))
def adam():
    return fit_mlp(optimizers.Adam(0.01))


@case("AdamW, weight decay")
def adamw():
    return fit_mlp(optimizers.AdamW(0.01, weight_decay=0.1))


@case("other optimizers")
def other_optimizers():
    values, states = {}, []
    for name in ("RMSprop", "Nadam", "Lion", "Adafactor"):
        model = mlp()
        model.compile(getattr(optimizers, name)(0.01), "mse")
        values[name] = model.fit(*regression(), batch_size=25, verbose=0, shuffle=False).history
        states.append(model)
    return Outcome(values=values, states=tuple(states))


@case("clipnorm")
def clipnorm():
    return fit_mlp(sgd(clipnorm=0.05))


@case("clipvalue")
def clipvalue():
    return fit_mlp(sgd(clipvalue=0.01))


@case("global_clipnorm", on=("four", "xla"))
def global_clipnorm():
    return fit_mlp(sgd(global_clipnorm=0.05))


@case("global_clipnorm")
def global_clipnorm_bounds_the_update():
    model = mlp()
    model.compile(optimizers.SGD(1.0, global_clipnorm=0.05), "mse")
    before = model.get_weights()
    model.fit(*regression(), batch_size=ROWS, epochs=1, verbose=0)
    norm = np.sqrt(sum(np.sum((a - b) ** 2) for a, b in zip(before, model.get_weights(), strict=True)))
    return Outcome(values={"update norm": norm}, states=(model,))


@case("gradient_accumulation_steps", on=("mirrored", "four", "xla"))
def gradient_accumulation():
    return fit_mlp(optimizers.Adam(0.01, gradient_accumulation_steps=3))


@case("gradient_accumulation_steps")
def gradient_accumulation_clipped():
    return fit_mlp(sgd(gradient_accumulation_steps=2, global_clipnorm=0.1, weight_decay=0.01))


@case("EMA of weights")
def ema_overwrites():
    return fit_mlp(sgd(use_ema=True, ema_momentum=0.8, ema_overwrite_frequency=3))


@case("EMA of weights")
def ema_at_the_end():
    return fit_mlp(optimizers.Adam(0.01, use_ema=True, ema_momentum=0.8))


@case("learning-rate schedule")
def learning_rate_schedule():
    rate = optimizers.schedules.ExponentialDecay(0.05, decay_steps=2, decay_rate=0.7, staircase=True)
    optimizer = optimizers.SGD(rate, momentum=0.5)
    outcome = fit_mlp(optimizer)
    return with_values(outcome, rate=optimizer.learning_rate, iterations=optimizer.iterations)


@case("LossScaleOptimizer")
def loss_scale():
    optimizer = optimizers.LossScaleOptimizer(sgd(), initial_scale=1024.0, dynamic_growth_steps=3)
    return with_values(fit_mlp(optimizer), scale=optimizer.dynamic_scale)


@case("LossScaleOptimizer", on=("core",))
def loss_scale_one_replica_overflows():
    # Only the first row of the second batch overflows: one replica alone sees it, all must skip the step.
    x, y = regression()
    x[16] = 1e30
    optimizer = optimizers.LossScaleOptimizer(sgd(), initial_scale=1024.0, dynamic_growth_steps=50)
    model = mlp()
    model.compile(optimizer, "mse")
    model.layers[1].activation = keras.activations.linear
    before = train(model, x, y, epochs=1)
    return Outcome(values={"scale": optimizer.dynamic_scale, "iterations": optimizer.iterations}, states=before.states)


def _mixed(policy: str, optimizer) -> Outcome:
    keras.mixed_precision.set_dtype_policy(policy)
    try:
        model = mlp()
        model.compile(optimizer, "mse")
        return train(model, *regression())
    finally:
        keras.mixed_precision.set_dtype_policy("float32")


# 16-bit gradients are rounded on each replica: float16 has 11 bits, bfloat16 8. After 8 steps weights of
# order 0.1-1 differ by some 8 * rate * 2**-11 (2**-8) times the gradient, which is of order 1-10 here.
@case("mixed_float16", rtol=1e-2, atol=5e-3)
def mixed_float16():
    return _mixed("mixed_float16", optimizers.LossScaleOptimizer(sgd(learning_rate=0.01), initial_scale=64.0))


# With the scale that Keras begins with the first steps overflow. A replica's own mean is over fewer rows
# and larger than the batch's, so that N replicas skip other steps than one device; but all the same ones.
@case("mixed_float16", like_one_device=False, on=("core",))
def mixed_float16_overflowing():
    return _mixed("mixed_float16", sgd(learning_rate=0.01))


@case("mixed_bfloat16", rtol=4e-2, atol=4e-2)
def mixed_bfloat16():
    return _mixed("mixed_bfloat16", sgd(learning_rate=0.01))


@case("recompile between fits")
def fit_after_recompile():
    x, y = regression()
    model = mlp()
    model.compile(sgd(), "mse")
    first = model.fit(x, y, batch_size=16, verbose=0, shuffle=False)
    model.compile(optimizers.Adam(0.01), "mae", metrics=["mse"])
    return with_values(train(model, x, y), first=first.history)


@case("several fits in one script")
def several_fits():
    x, y = regression()
    model = mlp()
    model.compile(optimizers.Adam(0.01), "mse")
    first = model.fit(x, y, batch_size=16, verbose=0, epochs=1)
    second = model.fit(x[:20], y[:20], batch_size=8, verbose=0, epochs=3, initial_epoch=1)
    return Outcome(values={"first": first.history, "second": second.history}, states=(model,))


@case("frozen layers")
def frozen_layers():
    model = mlp(outputs=3)
    model.layers[1].trainable = False
    model.compile(optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return train(model, *classes())
