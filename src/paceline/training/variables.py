"""Keras' variables in a step: an assignment is noted, so that its effect can be shared.

At the step's end the changes of replicas are added (metrics), or averaged by rows (moving statistics). Where the graph
shows that what is assigned is neither sum nor mean over rows, a person is told.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from keras.src.backend.tensorflow.core import Variable

from paceline.training import current, decisions
from paceline.training.aggregation import adds_up
from paceline.training.current import current_step, gradients_are_reduced
from paceline.training.growth import FIXED, MEAN, Form
from paceline.training.step import Kind, ReplicaStep


def install() -> None:
    """Makes every assignment to a Keras variable known to the step it happens in. Once per worker."""
    original = Variable._direct_assign

    def _direct_assign(self: Any, value: Any) -> None:
        step = current_step()
        # An update from reduced gradients is the same on every replica and needs no sharing.
        if step is not None and not gradients_are_reduced():
            step.note_assignment(self)
            if step.num_replicas > 1 and step.kind in (Kind.FIT, Kind.TEST):
                _tell_if_neither(step, self, value)
        with current.keras_assigns():
            original(self, value)

    Variable._direct_assign = _direct_assign


def _tell_if_neither(step: ReplicaStep, variable: Any, value: Any) -> None:
    growth = step.growths.of(value) if isinstance(value, tf.Tensor) else None
    if growth is None or growth in (FIXED, MEAN):
        return
    if not adds_up(variable):
        then = "the mean of these is taken" if tf.as_dtype(variable.dtype).is_floating else "keeps that"
        decisions.tell(
            f"{variable.path}: what a step makes of this state is no mean over rows, as far as its graph shows: each "
            f"of the {step.num_replicas} replicas makes it of its own rows, and {then}; for a count or a sum, give "
            'add_weight aggregation="sum"'
        )
    elif growth.form is Form.MIXED:
        decisions.tell(
            f"{variable.path}: this metric compares the rows of a batch with each other, as far as its graph shows: "
            f"each of the {step.num_replicas} replicas compares its own rows"
        )
