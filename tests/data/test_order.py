"""What of a dataset's function must run in the order of the elements."""

from __future__ import annotations

import keras
import pytest
import tensorflow as tf

from paceline.data.order import ordered_nodes


def table():
    names = tf.constant([str(i) for i in range(9)])
    values = tf.lookup.KeyValueTensorInitializer(names, tf.range(9))
    return tf.lookup.StaticHashTable(values, -1)


TABLE = table()
FLIP = keras.layers.RandomFlip(seed=1)
DENSE = keras.layers.Dense(2)
GENERATOR = tf.random.Generator.from_seed(1)
COUNTER = tf.Variable(0)


@tf.function
def inner(x):
    return x + tf.random.normal([])


def in_a_branch(x):
    return tf.cond(x > 0, lambda: inner(x), lambda: x)


def in_a_loop(x):
    for _ in tf.range(3):
        x += tf.random.uniform([])
    return x


FUNCTIONS = {
    "arithmetic": (lambda x: x * 2, set()),
    "check and print": (lambda x: (tf.debugging.assert_less(x, 9.0), tf.print(x), x)[-1], set()),
    "look up": (lambda x: TABLE.lookup(tf.strings.as_string(x)), set()),
    "read variables": (lambda x: DENSE(tf.fill([1, 3], x)), set()),
    "random of its own seed": (lambda x: tf.random.stateless_uniform([], [1, 2]) + x, set()),
    "Python without a state": (lambda x: tf.numpy_function(lambda v: v, [x], tf.float32, stateful=False), set()),
    "datasets": (lambda x: tf.data.Dataset.range(3).shuffle(3, seed=1).cache(), set()),
    "random": (lambda x: x + tf.random.uniform([]), {"RandomUniform"}),
    "random in a function": (inner, {"RandomStandardNormal"}),
    "random in a branch": (in_a_branch, {"RandomStandardNormal"}),
    "random in a loop": (in_a_loop, {"RandomUniform"}),
    "random in a dataset": (
        lambda x: tf.data.Dataset.range(3).map(lambda _: tf.random.uniform([])),
        {"RandomUniform"},
    ),
    "a generator": (lambda x: GENERATOR.normal([]) + x, {"RngReadAndSkip"}),
    "a random layer": (lambda x: FLIP(tf.fill([4, 4, 3], x), training=True), {"AssignVariableOp", "ReadVariableOp"}),
    "a counter": (lambda x: COUNTER.assign_add(1), {"AssignAddVariableOp", "ReadVariableOp"}),
    "Python": (lambda x: tf.py_function(lambda v: v, [x], tf.float32), {"EagerPyFunc"}),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore:Seed . from outer graph")
def test_what_draws_writes_or_calls_python_is_in_order(name):
    function, expected = FUNCTIONS[name]
    dataset = tf.data.Dataset.from_tensors(1.0).map(function)
    graph = dataset._functions()[0].function.graph.as_graph_def()
    assert set(ordered_nodes(graph).values()) == expected


def test_an_operation_that_nobody_knows_is_in_order():
    graph = tf.compat.v1.GraphDef()
    graph.node.add(name="a", op="OperationOfAnotherPackage")
    assert ordered_nodes(graph) == {"a": "OperationOfAnotherPackage"}
