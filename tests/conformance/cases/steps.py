"""A person's own `train_step` and `test_step`."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

from cases.table import EARLY_OPTIMIZER, FEATURES, Outcome, case, mlp, regression, sgd, train, with_values

layers = keras.layers


class RawScalar(keras.Model):
    """The step of the Keras guide: a scalar loss, its gradient, metrics of its own."""

    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(1)
        self.loss_tracker = keras.metrics.Mean(name="loss")
        self.mae = keras.metrics.MeanAbsoluteError(name="mae")

    def call(self, x):
        return self.dense(x)

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            predicted = self(x, training=True)
            loss = tf.reduce_mean(tf.square(y - predicted))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        self.loss_tracker.update_state(loss)
        self.mae.update_state(y, predicted)
        return {"loss": self.loss_tracker.result(), "mae": self.mae.result()}

    def test_step(self, data):
        x, y = data
        predicted = self(x, training=False)
        self.loss_tracker.update_state(tf.reduce_mean(tf.square(y - predicted)))
        self.mae.update_state(y, predicted)
        return {m.name: m.result() for m in self.metrics}

    @property
    def metrics(self):
        return [self.loss_tracker, self.mae]


@case("custom train_step, raw scalar loss", on=("core",))
def train_step_raw_scalar():
    model = RawScalar()
    model.compile(sgd(global_clipnorm=0.5))
    outcome = train(model, *regression(), validation_data=regression(rows=21))
    return with_values(outcome, evaluate=model.evaluate(*regression(rows=21), batch_size=8, verbose=0))


class TwoParts(RawScalar):
    """Its batches are rows with labels, and rows without."""

    def train_step(self, data):
        labelled, others = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(self(others) - self(others + 0.1)))
            loss += self.compute_loss(x=None, y=labelled["y"], y_pred=self(labelled["x"], training=True))
        self.optimizer.apply_gradients(
            zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables, strict=True)
        )
        self.loss_tracker.update_state(loss)
        return {"loss": self.loss_tracker.result()}


@case("custom train_step with batches of its own kind", on=("core",))
def train_step_two_parts():
    x, y = regression()
    model = TwoParts()
    model(x[:2])
    model.compile(sgd(), "mse")
    return train(model, tf.data.Dataset.from_tensor_slices(({"x": x, "y": y}, x[::-1])).batch(16))


class LogsOnly(RawScalar):
    """Its logs are plain tensors, no metric's result."""

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(y - self(x, training=True)))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply(gradients, self.trainable_variables)
        return {"plain": loss, "twice": loss * 2}

    @property
    def metrics(self):
        return []


@case("custom train_step, logs that are no metrics")
def train_step_plain_logs():
    model = LogsOnly()
    model.compile(keras.optimizers.Adam(0.01))
    return train(model, *regression())


class Compiled(keras.Model):
    """A step that uses what `compile` was given."""

    def train_step(self, data):
        x, y, weights = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            predicted = self(x, training=True)
            loss = self.compute_loss(x=x, y=y, y_pred=predicted, sample_weight=weights)
        self.optimizer.apply_gradients(
            zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables, strict=True)
        )
        for metric in self.metrics:
            if metric.name == "loss":
                metric.update_state(loss)
            else:
                metric.update_state(y, predicted, sample_weight=weights)
        return {m.name: m.result() for m in self.metrics}


@case("custom train_step with compiled loss and metrics")
def train_step_compiled():
    x = keras.Input((FEATURES,))
    hidden = layers.Dense(8, activation="tanh", kernel_regularizer="l2")(x)
    model = Compiled(x, layers.Dense(1)(hidden))
    model.compile(sgd(), keras.losses.MeanSquaredError(), metrics=["mae"])
    return train(model, *regression())


class Gan(keras.Model):
    def __init__(self):
        super().__init__()
        self.critic = keras.Sequential([layers.Dense(8, activation="relu"), layers.Dense(1)])
        self.generator = keras.Sequential([layers.Dense(8, activation="relu"), layers.Dense(FEATURES)])
        self.critic_loss = keras.metrics.Mean(name="critic_loss")
        self.generator_loss = keras.metrics.Mean(name="generator_loss")
        self.bce = keras.losses.BinaryCrossentropy(from_logits=True)
        self.seeds = keras.random.SeedGenerator(9)
        self.noise = True

    def compile(self, critic_optimizer, generator_optimizer):
        super().compile()
        self.critic_optimizer = critic_optimizer
        self.generator_optimizer = generator_optimizer

    def train_step(self, real):
        rows = tf.shape(real)[0]
        noise = keras.random.normal((rows, 4), seed=self.seeds) if self.noise else real[:, :4]
        with tf.GradientTape() as tape:
            fake = self.generator(noise)
            scores = self.critic(tf.concat([real, fake], axis=0))
            loss = self.bce(tf.concat([tf.ones((rows, 1)), tf.zeros((rows, 1))], axis=0), scores)
        gradients = tape.gradient(loss, self.critic.trainable_weights)
        self.critic_optimizer.apply_gradients(zip(gradients, self.critic.trainable_weights, strict=True))
        with tf.GradientTape() as tape:
            generator_loss = self.bce(tf.ones((rows, 1)), self.critic(self.generator(noise)))
        gradients = tape.gradient(generator_loss, self.generator.trainable_weights)
        self.generator_optimizer.apply_gradients(zip(gradients, self.generator.trainable_weights, strict=True))
        self.critic_loss.update_state(loss)
        self.generator_loss.update_state(generator_loss)
        return {"c": self.critic_loss.result(), "g": self.generator_loss.result()}


def _train_gan(*, noise):
    model = Gan()
    model.noise = noise
    first, second = keras.optimizers.Adam(0.01), sgd(learning_rate=0.02)
    model.compile(first, second)
    outcome = train(model, dataset_of_rows(), states=(first, second))
    return with_values(outcome, iterations=[first.iterations, second.iterations])


def dataset_of_rows():
    return tf.data.Dataset.from_tensor_slices(regression()[0]).batch(16)


@case(
    "custom train_step with two optimizers",
    on=("core",),
)
def gan():
    # Without noise of its own, so that it can be compared with one device.
    return _train_gan(noise=False)


@case(
    "custom train_step with two optimizers",
    like_one_device=False,
)
def gan_with_noise():
    return _train_gan(noise=True)


class Counts(RawScalar):
    """Keeps a moving value and a counter in variables of its own."""

    def __init__(self):
        super().__init__()
        self.moving = self.add_weight(shape=(), initializer="zeros", trainable=False, name="moving")
        self.steps = self.add_weight(shape=(), initializer="zeros", trainable=False, dtype="int32", name="steps")

    def train_step(self, data):
        logs = super().train_step(data)
        self.moving.assign(0.9 * self.moving + 0.1 * tf.reduce_mean(data[0]))
        self.steps.assign_add(1)
        return {**logs, "steps": self.steps.value}


@case("custom train_step with variables of its own")
def train_step_own_variables():
    model = Counts()
    model.compile(sgd())
    return train(model, *regression())


class Unused(keras.Model):
    """Some weights get no gradient."""

    def __init__(self):
        super().__init__()
        self.used, self.unused = layers.Dense(1), layers.Dense(1)

    def build(self, shape):
        self.used.build(shape)
        self.unused.build(shape)

    def call(self, x):
        return self.used(x)


@case("weights without a gradient")
def unused_weights():
    model = Unused()
    model.compile(sgd(), "mse")
    return train(model, *regression())


@case("a model without an optimizer or trainable weights", known=EARLY_OPTIMIZER)
def nothing_to_train():
    model = mlp()
    model.compile(loss="mse", metrics=["mae"])
    return Outcome(values={"evaluate": model.evaluate(*regression(), batch_size=16, verbose=0)}, states=(model,))


class Changed(RawScalar):
    """Changes gradients before they are applied, and logs their norm."""

    def __init__(self, change):
        super().__init__()
        self.hidden = layers.Dense(8, activation="tanh")
        self.change = change

    def call(self, x):
        return self.dense(self.hidden(x))

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(y - self(x, training=True)))
        gradients = tape.gradient(loss, self.trainable_variables)
        norm = tf.linalg.global_norm(gradients)
        self.optimizer.apply_gradients(zip(self.change(gradients), self.trainable_variables, strict=True))
        self.loss_tracker.update_state(loss)
        return {"loss": self.loss_tracker.result(), "norm": norm}


def _clipped(gradients):
    return tf.clip_by_global_norm(gradients, 0.3)[0]


def _signs(gradients):
    # Of what is not nearly zero: a sign of that is a sign of rounding.
    return [tf.sign(tf.round(gradient * 100.0)) for gradient in gradients]


def _centred(gradients):
    return [g - tf.reduce_mean(g, axis=0, keepdims=True) if len(g.shape) > 1 else g for g in gradients]


@case("custom train_step that changes gradients", on=("core", "ring"))
def gradients_changed():
    logs = {}
    models = []
    for name, change in {"clipped": _clipped, "signs": _signs, "centred": _centred}.items():
        models.append(Changed(change))
        models[-1].compile(sgd())
        logs[name] = models[-1].fit(*regression(), batch_size=16, epochs=2, shuffle=False, verbose=0).history
    return Outcome(values=logs, states=tuple(models))


class GradientOfGradient(RawScalar):
    """Trains through a step of its own: the inner gradient is differentiated once more."""

    def train_step(self, data):
        x, y = data
        kernel, bias = self.dense.kernel, self.dense.bias
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                loss = tf.reduce_mean(tf.square(y - self(x, training=True)))
            slope = inner.gradient(loss, kernel)
            moved = tf.matmul(x, kernel - 0.1 * slope) + bias
            later = tf.reduce_mean(tf.square(y - moved)) + 0.01 * tf.reduce_sum(tf.square(self.dense.kernel))
        gradients = outer.gradient(later, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"later": later}


@case("custom train_step, a gradient of a gradient", on=("core",))
def gradient_of_gradient():
    model = GradientOfGradient()
    model.dense.build((None, FEATURES))
    model.compile(sgd())
    return train(model, *regression())


class Decorated(RawScalar):
    """Its steps, and what they call, are `tf.function`s with branches over tensors."""

    @tf.function
    def train_step(self, data):
        x, y = data
        loss = self.update(x, y)
        if loss > 1000.0:
            loss = tf.zeros_like(loss)
        self.loss_tracker.update_state(loss)
        return {"loss": self.loss_tracker.result()}

    @tf.function
    def update(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(y - self(x, training=True)))
        self.optimizer.apply_gradients(
            zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables, strict=True)
        )
        return loss

    @tf.function
    def test_step(self, data):
        return super().test_step(data)

    @tf.function
    def predict_step(self, data):
        return self(data, training=False) + 1.0


@case("steps that are a tf.function", on=("core", "ring"))
def steps_are_functions():
    model = Decorated()
    model.compile(keras.optimizers.Adam(0.01))
    outcome = train(model, *regression(), validation_data=regression(rows=21))
    return with_values(outcome, predict=model.predict(regression()[0], batch_size=16, verbose=0))


class Accumulates(RawScalar):
    """Adds gradients up over two batches by hand, as answers on the web have it."""

    def build(self, shape):
        self.dense.build(shape)
        self.number = self.add_weight(shape=(), dtype="int32", initializer="zeros", trainable=False, name="number")
        self.sums = [
            self.add_weight(shape=v.shape, initializer="zeros", trainable=False, name=f"sum_{i}")
            for i, v in enumerate(self.trainable_variables)
        ]

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(y - self(x, training=True)))
        for total, gradient in zip(self.sums, tape.gradient(loss, self.trainable_variables), strict=True):
            total.assign_add(gradient)
        self.number.assign_add(1)
        tf.cond(tf.equal(self.number, 2), self.apply_sums, lambda: None)
        self.loss_tracker.update_state(loss)
        return {"loss": self.loss_tracker.result()}

    def apply_sums(self):
        self.optimizer.apply_gradients(
            zip([tf.convert_to_tensor(total) for total in self.sums], self.trainable_variables, strict=True)
        )
        self.number.assign(0)
        for total in self.sums:
            total.assign(tf.zeros_like(total))


@case("gradients added up by hand in train_step", on=("core",))
def accumulates_by_hand():
    model = Accumulates()
    model.build((None, FEATURES))
    optimizer = sgd()
    optimizer.build(model.trainable_variables)
    model.compile(optimizer)
    return train(model, *regression(), epochs=3)


@case("tf.config.run_functions_eagerly", on=("core",))
def functions_run_eagerly():
    tf.config.run_functions_eagerly(True)
    try:
        model = mlp()
        model.compile(sgd(), "mse", metrics=["mae"])
        outcome = train(model, *regression(), validation_data=regression(rows=21))
        return with_values(outcome, predict=model.predict(regression()[0], batch_size=16, verbose=0))
    finally:
        tf.config.run_functions_eagerly(False)


class OddLogs(RawScalar):
    """Its logs have no known shape, or are no numbers."""

    def train_step(self, data):
        logs = super().train_step(data)
        unknown = tf.numpy_function(lambda: np.float32(3.0), [], tf.float32)
        return {**logs, "unknown": unknown, "text": tf.constant("trained"), "none": None}


class TextLogs(keras.callbacks.Callback):
    """Looks at epochs only: steps may run in groups."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def on_epoch_end(self, epoch, logs=None):
        self.seen.append({key: value for key, value in logs.items() if value is not None})


@case("custom train_step, logs that are no metrics", on=("core",))
def odd_logs():
    model = OddLogs()
    model.compile(sgd(learning_rate=0.001))
    callback = TextLogs()
    x, y = regression()
    # 25 batches: steps that can run in groups would.
    model.fit(x, y, batch_size=2, epochs=3, shuffle=False, verbose=0, callbacks=[callback])
    seen = [
        {key: value if key != "text" else str(np.asarray(value)) for key, value in logs.items()}
        for logs in callback.seen
    ]
    return Outcome(values={"seen": seen}, states=(model,))


class SetsHookLate(keras.callbacks.Callback):
    """Puts a hook on itself when training has begun."""

    def __init__(self):
        super().__init__()
        self.batches = []

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 1:
            self.on_train_batch_end = lambda batch, logs=None: self.batches.append(batch)


@case("a batch hook that is set during training", on=("core",))
def late_hook():
    model = mlp()
    model.compile(sgd(learning_rate=0.001), "mse")
    callback = SetsHookLate()
    model.fit(*regression(), batch_size=2, epochs=3, shuffle=False, verbose=0, callbacks=[callback])
    return Outcome(values={"batches": callback.batches}, states=(model,))
