"""A person's own `strategy.run` loop: sums stay TensorFlow's, and metrics are the job's after each run.

Stock TensorFlow sums a metric over replicas when it is read, which on several
workers is a collective that one worker can then do alone. Here the states that a
run changed are brought together at its end, so that reading is only reading.
"""

from __future__ import annotations

import functools
import weakref
from typing import Any

import tensorflow as tf
from tensorflow.python.eager.polymorphic_function import polymorphic_function
from tensorflow.python.util import tf_decorator

from paceline.training import current
from paceline.training.ending import finish
from paceline.training.inline import converted
from paceline.training.step import Kind, ReplicaStep

_clones: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
_OURS = "paceline_function"


def leave_as_it_is(function: Any) -> None:
    """Marks a function of our own, which shares its states itself."""
    setattr(function, _OURS, True)


def around_run(function: Any) -> Any:
    """Returns what `strategy.run` is to run instead of a script's function.

    A `tf.function` is wrapped on the inside: what a step does must be part of the graph
    that is traced once and run many times.
    """
    if getattr(function, _OURS, False) or current.current_step() is not None:
        return function
    if isinstance(function, polymorphic_function.Function):
        if function not in _clones:
            inside = _shared(converted(function))
            # A decorator of TensorFlow's own kind: AutoGraph looks inside instead of hiding the function.
            _clones[function] = tf_decorator.make_decorator(
                inside, function._clone(python_function=inside), decorator_name="tf.function"
            )
        return _clones[function]
    return _shared(tf.__internal__.autograph.tf_convert(function, tf.__internal__.autograph.control_status_ctx()))


def _shared(function: Any) -> Any:
    seen: list[Any] = []

    @functools.wraps(function)
    def on_replica(*args: Any, **kwargs: Any) -> Any:
        step = ReplicaStep(Kind.OWN_LOOP, known=seen)
        if step.num_replicas == 1:
            return function(*args, **kwargs)
        with current.entered(step):
            result = function(*args, **kwargs)
            finish(step)
        step.remember(seen)
        return result

    return tf.autograph.experimental.do_not_convert(on_replica)
