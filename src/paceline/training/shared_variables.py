"""A `tf.Variable` of the script's own that a step assigns to: refused, or told.

Of a Keras variable each replica has a copy, and copies are brought together at the step's end. A plain `tf.Variable`
is one for all replicas of a process: a counter would count every replica, a sum would hold every replica's part. It is
refused there. Each worker has its own: that is right for what is the same on all of them, and told for the rest.
"""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf
from tensorflow.python.ops import resource_variable_ops

from paceline.errors import ScriptRefused
from paceline.training import decisions
from paceline.training.current import current_step, keras_is_assigning
from paceline.training.growth import FIXED
from paceline.training.step import Kind, ReplicaStep

_ASSIGNMENTS = ("assign", "assign_add", "assign_sub")
#: TensorFlow defines them again in `ResourceVariable`, for weak types, which hides a patched base.
_VARIABLES = (resource_variable_ops.BaseResourceVariable, resource_variable_ops.ResourceVariable)
_IN_ITS_PLACE = "keras.Variable(..., trainable=False) or self.add_weight(..., trainable=False) in its place"


def install(*, are_shared: bool) -> None:
    """Watches assignments. Once per worker, where there are several replicas.

    Args:
        are_shared: Whether several replicas are in one process.
    """
    look = _refuse if are_shared else _tell_if_different
    for owner in _VARIABLES:
        for name in _ASSIGNMENTS:
            if name in vars(owner):
                setattr(owner, name, _looking(vars(owner)[name], name, look))


def _looking(original: Any, name: str, look: Any) -> Any:
    @functools.wraps(original)
    def assign(self: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
        step = current_step()
        if step is not None and step.kind in (Kind.FIT, Kind.TEST) and not keras_is_assigning() and not _is_ours(self):
            look(step, self, name, value)
        return original(self, value, *args, **kwargs)

    return assign


def _is_ours(variable: Any) -> bool:
    """Returns whether it is one of a mirrored variable's copies (TensorFlow notes that on the handle), or ours."""
    if variable.name.startswith("paceline_"):  # counters of this process
        return True
    return hasattr(variable, "_distributed_container") or hasattr(variable.handle, "_distributed_container")


def _tell_if_different(step: ReplicaStep, variable: Any, name: str, value: Any) -> None:
    growth = step.growths.of(value) if isinstance(value, tf.Tensor) else None
    if growth is not None and growth != FIXED:
        decisions.tell(
            f"a step assigns to {variable.name}, a tf.Variable of the script's own, what it computes of its rows: each "
            f"worker has its own value of it ({name}); {_IN_ITS_PLACE} is brought together"
        )


def _refuse(step: ReplicaStep, variable: Any, name: str, value: Any) -> None:
    count = step.num_replicas
    growth = step.growths.of(value) if isinstance(value, tf.Tensor) else FIXED
    raise ScriptRefused(
        f"The {count} replicas of this process share a tf.Variable, and each of them would assign to it.",
        got=f"{name}(...) on {variable.name}, shape {tuple(variable.shape)}, inside of a step",
        expected="a variable of which each replica has a copy",
        fix=_IN_ITS_PLACE + (f"   or   paceline run --workers {count}" if growth == FIXED else ""),
    )
