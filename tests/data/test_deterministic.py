"""Pipelines that TensorFlow runs in any order give what one thread gives."""

from __future__ import annotations

import threading
import time

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.data.ops import iterator_ops

from paceline.data import deterministic, draws

ROWS = 60
# TensorFlow says so of every random operation in a dataset inside a function.
pytestmark = pytest.mark.filterwarnings("ignore:Seed 7 from outer graph")


@pytest.fixture
def told(monkeypatch):
    """Puts the hooks in place for one test; returns what they say."""
    lines = []
    for module, name, _ in deterministic.HOOKED:
        monkeypatch.setattr(module, name, getattr(module, name))
    owner = iterator_ops.OwnedIterator
    monkeypatch.setattr(owner, "_create_iterator", owner._create_iterator)
    deterministic.install(lines.append)
    draws.install()
    return lines


def with_threads(dataset, count):
    options = tf.data.Options()
    options.threading.private_threadpool_size = count
    return dataset.with_options(options)


def numbers():
    return tf.data.Dataset.range(ROWS)


def waits(value):
    """Takes the longer the smaller, so that what may change places does."""
    return tf.numpy_function(lambda v: (time.sleep(0.001 * (3 - v % 4)), v)[1], [value], tf.int64, stateful=False)


def uniform():
    return tf.random.uniform([], 0, 1 << 20, tf.int64)


def ragged(value):
    return tf.RaggedTensor.from_row_lengths(tf.random.uniform([4]) * tf.cast(value, tf.float32), [1, 3])


def sparse(value):
    return tf.sparse.from_dense(tf.random.uniform([4]) * tf.cast(value, tf.float32))


def box(value):
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        [40, 40, 3], tf.zeros([1, 0, 4]), min_object_covered=0.1, use_image_if_no_bounding_boxes=True
    )
    return begin, size, value


def drawing_inputs(value):
    return tf.data.Dataset.range(9).map(lambda v: v * value + uniform(), num_parallel_calls=3, deterministic=False)


def with_layers():
    layers = keras.Sequential([keras.layers.RandomFlip(seed=1), keras.layers.RandomRotation(0.3, seed=2)])
    images = np.random.default_rng(1).random((ROWS, 4, 4, 3), np.float32)
    dataset = tf.data.Dataset.from_tensor_slices(images).batch(4)
    return dataset.map(lambda image: layers(image, training=True), num_parallel_calls=8)


def with_a_generator():
    generator = tf.random.Generator.from_seed(3)
    return numbers().map(lambda v: (waits(v), generator.normal([])), num_parallel_calls=8)


def with_numpy():
    generator = np.random.default_rng(3)
    drawn = lambda v: tf.numpy_function(lambda n: n + generator.integers(1 << 20), [v], tf.int64)  # noqa: E731
    return numbers().map(drawn, num_parallel_calls=8)


def many_from_parallel_map(function):
    return lambda: numbers().map(function, num_parallel_calls=8)


PIPELINES = {
    "a draw": many_from_parallel_map(lambda v: uniform()),
    "a draw beside other work": many_from_parallel_map(lambda v: waits(v) + uniform()),
    "a draw after other work": many_from_parallel_map(lambda v: tf.random.uniform([], 0, waits(v) + 99, tf.int64)),
    "draws in a structure": many_from_parallel_map(lambda v: {"a": waits(v), "b": (uniform(), tf.random.normal([2]))}),
    "ragged": lambda: numbers().map(ragged, num_parallel_calls=8).map(lambda r: r * 2.0, num_parallel_calls=8),
    "sparse": lambda: numbers().map(sparse, num_parallel_calls=8).map(tf.sparse.to_dense, num_parallel_calls=8),
    "bounding boxes": many_from_parallel_map(box),
    "random layers": with_layers,
    "a generator": with_a_generator,
    "NumPy": with_numpy,
    "map deterministic=False": lambda: numbers().map(waits, num_parallel_calls=8, deterministic=False),
    "batch deterministic=False": lambda: numbers().map(waits, num_parallel_calls=8).batch(
        4, num_parallel_calls=4, deterministic=False
    ),
    "interleave deterministic=False": lambda: tf.data.Dataset.range(6).interleave(
        lambda v: tf.data.Dataset.range(9).map(lambda w: waits(v * 10 + w)),
        cycle_length=3, num_parallel_calls=3, deterministic=False,
    ),
    "interleave that draws": lambda: tf.data.Dataset.range(6).interleave(
        drawing_inputs, cycle_length=3, num_parallel_calls=3
    ),
    "options": lambda: numbers().map(waits, num_parallel_calls=8).with_options(unordered()),
}  # fmt: skip


def unordered():
    options = tf.data.Options()
    options.deterministic = False
    return options


def read(name, threads):
    keras.utils.set_random_seed(7)
    dataset = with_threads(PIPELINES[name](), threads)
    return [np.concatenate([np.ravel(part) for part in tf.nest.flatten(e, True)]) for e in dataset]


@pytest.mark.parametrize("name", PIPELINES)
def test_many_threads_give_what_one_gives(told, name):
    one = read(name, 1)
    for _ in range(2):
        for mine, expected in zip(read(name, 8), one, strict=True):
            np.testing.assert_array_equal(mine, expected)


def calls_at_once(*, draws_too):
    """Returns how many calls of a parallel map run at the same time."""
    running, most, lock = [0], [0], threading.Lock()

    def work(value):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.02)
        with lock:
            running[0] -= 1
        return value

    def function(value):
        value = tf.numpy_function(work, [value], tf.int64, stateful=False)
        return value + uniform() if draws_too else value

    keras.utils.set_random_seed(7)
    dataset = with_threads(tf.data.Dataset.range(24).map(function, num_parallel_calls=4), 8)
    assert len(list(dataset)) == dataset.cardinality() == 24
    return most[0]


@pytest.mark.parametrize("draws_too", [False, True])
def test_what_does_not_draw_stays_parallel(told, draws_too):
    assert calls_at_once(draws_too=draws_too) > 1
    assert not told


def test_what_is_no_longer_parallel_is_said(told):
    for name in ("NumPy", "interleave that draws", "map deterministic=False"):
        read(name, 1)
    text = "\n".join(told)
    assert "Python functions in a map run one call at a time" in text and "stateful=False" in text
    assert "an interleave with num_parallel_calls reads one input at a time (its function runs RandomUniform" in text
    assert "deterministic=False is taken as True" in text


@pytest.mark.parametrize("name", ["random layers", "a generator"])
def test_an_iteration_begins_alike_wherever_the_one_before_was_left(told, name):
    def after_a_look(wait_s):
        keras.utils.set_random_seed(7)
        dataset = with_threads(PIPELINES[name]().prefetch(9), 8)
        for _ in dataset.take(1):
            time.sleep(wait_s)  # the pipeline reads ahead
        return [np.ravel(tf.nest.flatten(e, True)[-1]) for e in dataset]

    for hasty, slow in zip(after_a_look(0), after_a_look(0.1), strict=True):
        np.testing.assert_array_equal(hasty, slow)


def test_iterations_draw_different_numbers(told):
    dataset = PIPELINES["a generator"]()
    first, second = ([float(e[1]) for e in dataset] for _ in range(2))
    assert not set(first) & set(second)
