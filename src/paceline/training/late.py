"""Metric states that are too large to be summed in every step: they are, in the last one of a group.

Nobody looks at a group's other steps (`paceline.training.groups`). Until the last one each
replica adds to its own state; then the change since the group began is summed.
"""

from __future__ import annotations

import enum
from typing import Any

import tensorflow as tf

from paceline.training.aggregation import adds_up

#: Of so many bytes a state is late. Source: benchmarks/sweep.py, two workers on one host: 64 KiB more take over MPI
#: about 0.02 ms, one hundredth of a small step; over RING 0.2 ms.
LARGE_BYTES = 64 * 2**10


class Place(enum.Enum):
    """Where in a group of steps a step stands."""

    ALONE = "alone"
    WITHIN = "within"
    LAST = "last"


class LateStates:
    """The large states of one model's step, and what they were when the group began."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[Any, tf.Variable]] = {}

    def find(self, assigned: list[Any]) -> bool:
        """Looks among the variables that the step assigns to; returns whether there are any. Collective: no."""
        for variable in assigned:
            if id(variable) not in self._held and adds_up(variable) and _bytes(variable) >= LARGE_BYTES:
                with tf.init_scope():
                    held = tf.Variable(tf.zeros(variable.shape, variable.dtype), trainable=False)
                self._held[id(variable)] = variable, held
        return bool(self._held)

    def begin(self) -> None:
        """Keeps what the states are now. Called where a group begins. Collective: no."""
        for variable, held in self._held.values():
            held.assign(tf.convert_to_tensor(variable.value))

    def holds(self, variable: Any) -> bool:
        """Returns whether a variable is one of these states."""
        return id(variable) in self._held

    def at_begin(self, variable: Any) -> tf.Tensor:
        """Returns what a state was when the group began."""
        return tf.identity(self._held[id(variable)][1])


def _bytes(variable: Any) -> int:
    return int(variable.shape.num_elements() * tf.as_dtype(variable.dtype).size)
