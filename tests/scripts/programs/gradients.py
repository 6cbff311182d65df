"""Uses gradients as one may: to look at, inside `train_step`, inside `strategy.run`."""

import keras
import numpy as np
import tensorflow as tf
from facts import digest, note, table, weights

import paceline

x, y = table()
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def saliency(model):
    inputs = tf.convert_to_tensor(x[:4])
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        score = tf.reduce_sum(model(inputs)[:, 0])
    return tape.gradient(score, inputs)


def norms(model):
    with tf.GradientTape() as tape:
        loss = loss_of(y, model(x))
    return [float(tf.norm(g)) for g in tape.gradient(loss, model.trainable_variables)]


class Penalised(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(3)

    def call(self, inputs):
        return self.dense(inputs)

    def train_step(self, data):
        features, labels = data
        with tf.GradientTape() as tape:
            with tf.GradientTape() as inner:
                inner.watch(features)
                logits = self(features, training=True)
            penalty = tf.reduce_mean(tf.norm(inner.gradient(logits, features) + 1e-6, axis=1))
            loss = self.compute_loss(y=labels, y_pred=logits) + 0.1 * penalty
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return {"loss": loss}


# looking only, and putting weights back
model = keras.Sequential([keras.Input([6]), keras.layers.Dense(3)])
model.save_weights("start.weights.h5")
before = norms(model)
model.load_weights("start.weights.h5")
norms(model)
model.load_weights("start.weights.h5")
norms(model)
model.set_weights(model.get_weights())
note(saliency=digest(saliency(model).numpy()), norms=before)


class Norms(keras.callbacks.Callback):
    """Looks at gradients while Keras trains, and puts weights back."""

    def on_train_batch_end(self, batch, logs=None):
        norms(self.model)
        self.model.set_weights(self.model.get_weights())


penalised = Penalised()
penalised.compile("sgd", loss_of)
penalised.fit(x, y, batch_size=16, shuffle=False, verbose=0, callbacks=[Norms()])
penalised.save_weights("end.weights.h5")
penalised.load_weights("end.weights.h5")

# a loop of one's own, under strategy.run
strategy = paceline.strategy()
with strategy.scope():
    own = keras.Sequential([keras.Input([6]), keras.layers.Dense(3)])
    optimizer = keras.optimizers.SGD(0.1)
per_sample = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")
raw = tf.Variable(tf.zeros([]), trainable=True)


def train_step(features, labels):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(per_sample(labels, own(features, training=True))) / 16.0
    optimizer.apply_gradients(zip(tape.gradient(loss, own.trainable_variables), own.trainable_variables, strict=True))
    return loss


@tf.function
def distributed_step(features, labels):
    return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(train_step, args=(features, labels)), axis=None)


dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices((x, y)).batch(16))
losses = [float(distributed_step(*batch)) for _ in range(2) for batch in dataset]
note(own_losses=losses, own_weights=weights(own), own_digest=digest(*own.get_weights()))
note(penalised=weights(penalised), digest=digest(*penalised.get_weights()), norms_after=norms(own))
assert np.isfinite(losses).all()
