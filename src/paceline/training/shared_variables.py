"""Refuses a step in which several replicas of a process assign to one `tf.Variable` of the script's own.

Of a Keras variable each replica has a copy, and copies are brought together at the step's end. A plain `tf.Variable`
is one for all of them: a counter would count every replica, a sum would hold every replica's part.
"""

from __future__ import annotations

import functools
from typing import Any

from tensorflow.python.ops import resource_variable_ops

from paceline.errors import ScriptRefused
from paceline.training.current import current_step
from paceline.training.step import Kind

_ASSIGNMENTS = ("assign", "assign_add", "assign_sub")
#: TensorFlow defines them again in `ResourceVariable`, for weak types, which hides a patched base.
_VARIABLES = (resource_variable_ops.BaseResourceVariable, resource_variable_ops.ResourceVariable)


def install() -> None:
    """Watches assignments. Once per worker, where several replicas are in one process."""
    for owner in _VARIABLES:
        for name in _ASSIGNMENTS:
            if name in vars(owner):
                setattr(owner, name, _refusing(vars(owner)[name], name))


def _refusing(original: Any, name: str) -> Any:
    @functools.wraps(original)
    def assign(self: Any, *args: Any, **kwargs: Any) -> Any:
        step = current_step()
        if step is not None and step.kind in (Kind.FIT, Kind.TEST) and not _is_copy(self):
            raise _shared(self, name, step.num_replicas)
        return original(self, *args, **kwargs)

    return assign


def _is_copy(variable: Any) -> bool:
    """Returns whether it is one of a mirrored variable's copies (TensorFlow notes that on the handle), or ours."""
    if variable.name.startswith("paceline_"):  # counters of this process
        return True
    return hasattr(variable, "_distributed_container") or hasattr(variable.handle, "_distributed_container")


def _shared(variable: Any, name: str, count: int) -> ScriptRefused:
    return ScriptRefused(
        f"The {count} replicas of this process share a tf.Variable, and each of them would assign to it.",
        got=f"{name}(...) on {variable.name}, shape {tuple(variable.shape)}, inside of a step",
        expected="a variable of which each replica has a copy",
        fix=f"keras.Variable(...) or self.add_weight(...) in its place   or   paceline run --workers {count}",
    )
