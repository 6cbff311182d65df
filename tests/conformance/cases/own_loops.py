"""A person's own loop with `strategy.run`: TensorFlow's sums, and metrics that can be read by anybody."""

from __future__ import annotations

import keras
import tensorflow as tf

from cases.table import BATCH, ROWS, Outcome, case, dataset, mlp, regression, sgd

SUM, MEAN = tf.distribute.ReduceOp.SUM, tf.distribute.ReduceOp.MEAN


def job_strategy():
    """Returns the job's strategy; without a job TensorFlow's default one."""
    return tf.distribute.get_strategy()


class _Loop:
    """The loop of TensorFlow's tutorial on distributed training."""

    def __init__(self, optimizer, model=None):
        self.strategy = job_strategy()
        with self.strategy.scope():
            self.model = model or mlp()
            self.optimizer = optimizer
            self.mae = keras.metrics.MeanAbsoluteError()
            self.mean = keras.metrics.Mean()
        self.loss = keras.losses.MeanSquaredError(reduction="none")

    def step(self, batch):
        x, y = batch
        with tf.GradientTape() as tape:
            predicted = self.model(x, training=True)
            loss = tf.nn.compute_average_loss(self.loss(y, predicted), global_batch_size=BATCH)
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables, strict=True))
        self.mae.update_state(y, predicted)
        self.mean.update_state(tf.square(y - predicted))
        return loss

    def outcome(self, losses):
        values = {"losses": losses, "mae": self.mae.result(), "mean": self.mean.result()}
        return Outcome(values=values, states=(self.model, self.optimizer, self.mae, self.mean))

    def data(self):
        return self.strategy.experimental_distribute_dataset(dataset(*regression()))


@case("own loop with strategy.run", on=("mirrored", "ring"))
def own_loop():
    loop = _Loop(sgd(global_clipnorm=0.5))

    @tf.function
    def run(batch):
        return loop.strategy.reduce(SUM, loop.strategy.run(loop.step, args=(batch,)), axis=None)

    return loop.outcome([run(batch) for _ in range(2) for batch in loop.data()])


@case("own loop with strategy.run, eager")
def own_loop_eager():
    loop = _Loop(sgd())
    return loop.outcome(
        [loop.strategy.reduce(SUM, loop.strategy.run(loop.step, args=(batch,)), axis=None) for batch in loop.data()]
    )


@case(
    "own loop, a tf.function given to strategy.run",
    on=("ring",),
)
def own_loop_function_given():
    loop = _Loop(sgd())
    step = tf.function(loop.step)
    losses = [
        loop.strategy.reduce(SUM, loop.strategy.run(step, args=(batch,)), axis=None)
        for _ in range(2)
        for batch in loop.data()
    ]
    return loop.outcome(losses)


@case("own loop, a tf.function given to strategy.run")
def own_loop_function_with_branches():
    loop = _Loop(sgd())

    @tf.function
    def step(batch):
        x, y = batch
        error = tf.reduce_sum(tf.square(y - loop.model(x)))
        if tf.size(x) > 0:
            loop.mean.update_state(tf.square(y - loop.model(x)))
        for _ in tf.range(2):
            error *= 0.5
        return error

    errors = [loop.strategy.reduce(SUM, loop.strategy.run(step, args=(batch,)), axis=None) for batch in loop.data()]
    return loop.outcome(errors)


@case("own loop over an iterator inside a tf.function", on=("mirrored", "four"))
def own_loop_inside():
    loop = _Loop(keras.optimizers.Adam(0.01))
    loop.optimizer.build(loop.model.trainable_variables)

    @tf.function
    def epoch(iterator):
        total = 0.0
        for _ in tf.range(3):
            total += loop.strategy.reduce(SUM, loop.strategy.run(loop.step, args=(next(iterator),)), axis=None)
        return total

    return loop.outcome([epoch(iter(loop.data())) for _ in range(2)])


@case("own loop, for over a distributed dataset inside a tf.function")
def own_loop_for_inside():
    loop = _Loop(sgd())
    loop.optimizer.build(loop.model.trainable_variables)

    @tf.function
    def epoch(data):
        total = 0.0
        for batch in data:
            total += loop.strategy.reduce(SUM, loop.strategy.run(loop.step, args=(batch,)), axis=None)
        return total

    data = loop.data()
    return loop.outcome([epoch(data) for _ in range(2)])


@case("own loop, optimizer built inside a tf.function")
def own_loop_builds_inside():
    loop = _Loop(keras.optimizers.Adam(0.01))

    @tf.function
    def run(batch):
        return loop.strategy.reduce(SUM, loop.strategy.run(loop.step, args=(batch,)), axis=None)

    return loop.outcome([run(batch) for batch in loop.data()])


@case("own loop, metrics are read by one worker alone", on=("ring",))
def own_loop_metrics_are_local():
    loop = _Loop(sgd())

    @tf.function
    def run(batch):
        return loop.strategy.run(loop.step, args=(batch,))

    for batch in loop.data():
        run(batch)
        if getattr(getattr(loop.strategy, "transport", None), "rank", 0) == 0:
            loop.mae.result()
    outcome = loop.outcome([])
    loop.mae.reset_state()
    return outcome


def _first(value):
    return job_strategy().experimental_local_results(value)[0]


@case("strategy.reduce, gather, values from a function", on=("mirrored", "ring"))
def reduce_and_gather():
    strategy = job_strategy()
    count = strategy.num_replicas_in_sync

    def value():
        context = tf.distribute.get_replica_context()
        index = tf.cast(context.replica_id_in_sync_group, tf.float32)
        summed = context.all_reduce(SUM, index + 1.0)
        mean = context.all_reduce(MEAN, [index, tf.ones([2]) * index])
        return {"index": index[None, None], "sum": summed, "mean": mean}

    results = strategy.run(value)
    gathered = strategy.gather(results["index"], axis=0)
    return Outcome(
        values={
            "gathered in order": tf.reduce_all(gathered[:, 0] == tf.range(count, dtype=tf.float32)),
            "gathered all": tf.shape(gathered)[0] == count,
            "gathered columns": tf.shape(strategy.gather(results["index"], axis=1))[1] == count,
            "sum": _first(results["sum"]) == count * (count + 1) / 2,
            "mean": _first(results["mean"][1]) == (count - 1) / 2,
            "reduced": strategy.reduce(MEAN, results["sum"], axis=None) == count * (count + 1) / 2,
        }
    )


@case("own loop, evaluation")
def own_loop_evaluates():
    loop = _Loop(sgd())

    @tf.function
    def test(batch):
        x, y = batch
        predicted = loop.model(x, training=False)
        loop.mae.update_state(y, predicted)
        loop.mean.update_state(loop.loss(y, predicted))

    for batch in loop.data():
        loop.strategy.run(test, args=(batch,))
    return loop.outcome([])


@case("a bare loop is refused", raises="never combines the gradients")
def bare_loop():
    model = mlp()
    x, y = regression()
    optimizer = sgd()
    for begin in range(0, ROWS, BATCH):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(y[begin : begin + BATCH] - model(x[begin : begin + BATCH])))
        optimizer.apply_gradients(
            zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
        )
    return Outcome(values={"loss": loss}, states=(model,))
