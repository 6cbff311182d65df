"""Where batches come from: datasets of every kind, arrays, generators, PyDataset."""

from __future__ import annotations

import time

import keras
import numpy as np
import tensorflow as tf

from cases.own_loops import job_strategy
from cases.table import BATCH, GHOST_STEP, case, dataset, mlp, regression, sgd, train, with_values


def _fit(data, **options):
    optimizer = keras.optimizers.Adam(0.01)
    model = mlp()
    model.compile(optimizer, "mse", metrics=["mae"])
    outcome = train(model, data, **options)
    return with_values(outcome, iterations=optimizer.iterations)


@case("tf.data, finite", on=("mirrored", "ring"))
def finite():
    return _fit(dataset(*regression()), validation_data=dataset(*regression(rows=21)))


@case("tf.data, shuffled")
def shuffled():
    data = tf.data.Dataset.from_tensor_slices(regression()).shuffle(50).batch(BATCH)
    return _fit(data)


@case("tf.data, infinite with steps_per_epoch", on=("ring",))
def infinite():
    return _fit(dataset(*regression()).repeat(), steps_per_epoch=3)


@case("tf.data, fewer steps than the data have")
def fewer_steps():
    return _fit(dataset(*regression()), steps_per_epoch=2)


@case("tf.data, unknown length", stock_is_wrong=GHOST_STEP, on=("ring",))
def unknown_length():
    # An epoch ends when the data do: the call that finds no more may change nothing.
    return _fit(dataset(*regression()).filter(lambda x, y: True))


@case("tf.data, unknown length")
def unknown_length_accumulating():
    model = mlp()
    optimizer = sgd(gradient_accumulation_steps=2, use_ema=True, ema_overwrite_frequency=2)
    model.compile(optimizer, "mse", steps_per_execution=3)
    outcome = train(model, dataset(*regression()).filter(lambda x, y: True))
    return with_values(outcome, iterations=optimizer.iterations)


@case("tf.data, unknown length", stock_is_wrong=GHOST_STEP, like_one_device=False)
def unknown_length_many_epochs():
    # Nothing may move in the calls that find no data: neither counters nor seeds.
    model = keras.Sequential([keras.layers.Dropout(0.5, seed=4), keras.layers.Dense(1)])
    optimizer = keras.optimizers.Adam(0.01)
    model.compile(optimizer, "mse")
    data = dataset(*regression(rows=8), batch=4).filter(lambda x, y: True)
    outcome = train(model, data, epochs=20)
    draws = model.layers[0].seed_generator.state
    return with_values(outcome, iterations=optimizer.iterations, exact=int(optimizer.iterations) == 40, draws=draws)


@case("tf.data, unknown length", stock_is_wrong=GHOST_STEP, on=("ring",))
def slow_end():
    # While the last call waits for data that never come, a step that does not wait has time to go wrong.
    x, y = regression(rows=8)

    def rows():
        yield from zip(x, y, strict=True)
        time.sleep(0.3)

    spec = (tf.TensorSpec((6,), tf.float32), tf.TensorSpec((1,), tf.float32))
    return _fit(tf.data.Dataset.from_generator(rows, output_signature=spec).batch(4))


@case("tf.data, from_generator", stock_is_wrong=GHOST_STEP, on=("four",))
def from_generator():
    x, y = regression()

    def rows():
        yield from zip(x, y, strict=True)

    spec = (tf.TensorSpec((6,), tf.float32), tf.TensorSpec((1,), tf.float32))
    return _fit(tf.data.Dataset.from_generator(rows, output_signature=spec).batch(BATCH))


@case("already distributed dataset", on=("ring",))
def distributed_dataset():
    strategy = job_strategy()
    return _fit(strategy.experimental_distribute_dataset(dataset(*regression())))


@case("distribute_datasets_from_function", on=("mirrored", "ring"))
def datasets_from_function():
    # As TensorFlow's tutorial has it: a pipeline reads its part of the data, in batches of one replica's size.
    def make(context):
        data = tf.data.Dataset.from_tensor_slices(regression())
        data = data.shard(context.num_input_pipelines, context.input_pipeline_id)
        return data.batch(context.get_per_replica_batch_size(BATCH))

    return _fit(job_strategy().distribute_datasets_from_function(make))


@case("distribute_datasets_from_function", stock_is_wrong=GHOST_STEP, on=("ring",))
def function_with_unequal_parts():
    # Of every global batch each pipeline gets its part of the rows, and that may be none; in one process each
    # replica in turn.
    x, y = regression()

    def make(context):
        replicas = job_strategy().num_replicas_in_sync
        parts = [
            (np.array_split(x[b : b + BATCH], replicas)[i], np.array_split(y[b : b + BATCH], replicas)[i])
            for b in range(0, len(x), BATCH)
            for i in range(replicas)
            if i % context.num_input_pipelines == context.input_pipeline_id
        ]
        spec = (tf.TensorSpec((None, 6), tf.float32), tf.TensorSpec((None, 1), tf.float32))
        return tf.data.Dataset.from_generator(lambda: iter(parts), output_signature=spec)

    strategy = job_strategy()
    model = mlp()
    model.compile(sgd(), "mse", metrics=["mae"])
    outcome = train(model, strategy.distribute_datasets_from_function(make))
    tested = model.evaluate(strategy.distribute_datasets_from_function(make), verbose=0)
    return with_values(outcome, evaluate=tested)


@case("distribute_datasets_from_function", like_one_device=False, on=("mirrored", "ring"))
def uneven_datasets_from_function():
    x, y = regression()

    def make(context):
        rows = 10 + 14 * context.input_pipeline_id
        return tf.data.Dataset.from_tensor_slices((x[:rows], y[:rows])).batch(4)

    return _fit(job_strategy().distribute_datasets_from_function(make))


@case("Python generator", on=("ring",))
def python_generator():
    def batches():
        x, y = regression()
        while True:
            for begin in range(0, 50, BATCH):
                yield x[begin : begin + BATCH], y[begin : begin + BATCH]

    return _fit(batches(), steps_per_epoch=4)


@case("Python generator", stock_is_wrong=GHOST_STEP)
def python_generator_that_ends():
    def batches():
        x, y = regression()
        for begin in range(0, 50, BATCH):
            yield x[begin : begin + BATCH], y[begin : begin + BATCH]

    return _fit(batches(), epochs=1)


class Batches(keras.utils.PyDataset):
    """Batches of the small regression."""

    def __init__(self, **options):
        super().__init__(**options)
        self.x, self.y = regression()

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return self.x[index * BATCH : (index + 1) * BATCH], self.y[index * BATCH : (index + 1) * BATCH]


@case("PyDataset", on=("ring",))
def py_dataset():
    return _fit(Batches(), validation_data=Batches(), shuffle=True)


@case("PyDataset, workers=2")
def py_dataset_workers():
    return _fit(Batches(workers=2, max_queue_size=4))


@case("PyDataset, use_multiprocessing=True")
def py_dataset_processes():
    return _fit(Batches(workers=2, use_multiprocessing=True, max_queue_size=4))


@case("data on a device already")
def tensors():
    x, y = regression()
    return _fit(tf.constant(x), y=tf.constant(y), batch_size=BATCH)
