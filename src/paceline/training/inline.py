"""Hook on `tf.function`: one that a script calls inside a step becomes part of the step's graph.

By itself it would be traced once, with the tensors of the step that was traced then: its rows, its weight among the
replicas. And a sum over replicas of one process cannot stand in a graph of its own.
"""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf
from tensorflow.python.autograph.core import ag_ctx
from tensorflow.python.eager.polymorphic_function import polymorphic_function
from tensorflow.python.util import tf_decorator

from paceline.training.current import current_step
from paceline.training.origin import is_of_a_script


def install() -> None:
    """Puts the hook in place. Once per worker."""
    call = polymorphic_function.Function.__call__

    @functools.wraps(call)
    def inlined_call(self: Any, *args: Any, **kwargs: Any) -> Any:
        step = current_step()
        if step is None or tf.executing_eagerly() or not _becomes_part(self):
            return call(self, *args, **kwargs)
        return converted(self)(*args, **kwargs)

    polymorphic_function.Function.__call__ = inlined_call


def _becomes_part(function: Any) -> bool:
    """Returns whether a script made it; one that XLA compiles holds no sum, and stays as it is."""
    return not function._jit_compile and is_of_a_script(tf_decorator.unwrap(function.python_function)[1])


def converted(function: Any) -> Any:
    """Returns what a `tf.function` runs, with branches and loops over tensors as operations, as it would have them."""
    if not function._autograph:
        return function.python_function
    enabled = ag_ctx.ControlStatusCtx(status=ag_ctx.Status.ENABLED)
    return tf.__internal__.autograph.tf_convert(function.python_function, enabled)
