"""Keras' variables in a step: an assignment is noted, so that its effect can be shared."""

from __future__ import annotations

from typing import Any

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


def adds_up(variable: Any) -> bool:
    """Returns whether the changes of replicas are added (metrics), not averaged by rows (moving statistics)."""
    return bool(variable.aggregation == "sum" or variable.synchronization == "on_read")
