"""Hook on Keras' `Mean`: a scalar from one replica counts by that replica's rows."""

from __future__ import annotations

import functools
from typing import Any

from keras.metrics import Mean

from paceline.training.current import current_step
from paceline.training.step import Kind


def install() -> None:
    """Makes `Mean.update_state(scalar)` mean the same on N replicas as on one. Once per worker.

    On one device a scalar (`loss_tracker.update_state(loss)`) adds itself and a count
    of one. Each of N replicas has a scalar over its own rows: weighted by its share of
    the rows the N together add the global batch's scalar and a count of one. A sum over rows is made a mean for that.
    """
    original = Mean.update_state

    @functools.wraps(original)
    def update_state(self: Any, values: Any, sample_weight: Any = None) -> Any:
        step = current_step()
        if step is not None and step.kind in (Kind.FIT, Kind.TEST) and sample_weight is None and _is_scalar(values):
            values, sample_weight = step.as_mean(values), step.weight
        return original(self, values, sample_weight)

    Mean.update_state = update_state


def _is_scalar(values: Any) -> bool:
    shape = getattr(values, "shape", ())
    return len(shape) == 0 if shape is not None else False
