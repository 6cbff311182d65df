"""Keeps the collectives of one worker in program order inside a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import tensorflow as tf

T = TypeVar("T")


class OrderToken:
    """A variable that every collective reads before it starts and writes when it is done.

    TensorFlow runs operations of a graph in any order that their inputs allow. Two
    collectives that do not depend on each other could then run in another order on
    another worker, and both would wait for ever. Automatic control dependencies
    order everything that touches one variable, also across nested functions and
    loops, so one touched variable is enough.
    """

    def __init__(self) -> None:
        with tf.init_scope(), tf.device("/cpu:0"):
            self._variable = tf.Variable(0, dtype=tf.int64, trainable=False, name="paceline_order")

    def run(self, collective: Callable[[], T]) -> T:
        """Returns what `collective()` returns, ordered after every earlier call."""
        if tf.executing_eagerly():
            return collective()
        before = self._variable.assign_add(1, read_value=True)
        with tf.control_dependencies([before]):
            result = collective()
        with tf.control_dependencies(tf.nest.flatten(result, expand_composites=True)):
            self._variable.assign_add(1, read_value=False)
        return result
