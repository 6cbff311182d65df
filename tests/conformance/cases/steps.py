"""A person's own `train_step` and `test_step`."""

from __future__ import annotations

import keras
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
