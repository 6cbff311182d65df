"""Hooks on Keras' variables: an assignment inside a step is noted, and first values do not depend on the step's data."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from keras.src.backend.tensorflow.core import Variable

from paceline.training.current import current_step, gradients_are_reduced


def install() -> None:
    """Makes every assignment to a Keras variable known to the step it happens in. Once per worker."""
    original = Variable._direct_assign

    def _direct_assign(self: Any, value: Any) -> None:
        step = current_step()
        # An update from reduced gradients is the same on every replica and needs no sharing.
        if step is not None and not gradients_are_reduced():
            step.note_assignment(self)
        original(self, value)

    Variable._direct_assign = _direct_assign
    initialize = Variable._initialize

    def _initialize(self: Any, value: Any) -> None:
        # Everything in a step waits for its data, but TensorFlow moves first values out of the step.
        with tf.control_dependencies(None):
            initialize(self, value)

    Variable._initialize = _initialize
