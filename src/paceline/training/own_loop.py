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

from paceline.errors import ScriptRefused
from paceline.training import current
from paceline.training.ending import finish
from paceline.training.inline import converted
from paceline.training.step import Kind, ReplicaStep

_clones: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
_OURS = "paceline_function"


def leave_as_it_is(function: Any) -> None:
    """Marks a function of our own, which shares its states itself."""
    setattr(function, _OURS, True)


def is_own(function: Any) -> bool:
    """Returns whether what `strategy.run` is given is a step of the script's own loop, not of Keras' loops."""
    return not getattr(function, _OURS, False) and current.current_step() is None


def around_run(function: Any) -> Any:
    """Returns what `strategy.run` is to run instead of a script's function.

    A `tf.function` is wrapped on the inside: what a step does must be part of the graph
    that is traced once and run many times.
    """
    if not is_own(function):
        return function
    _refuse_legacy_keras(function)
    if isinstance(function, polymorphic_function.Function):
        if function not in _clones:
            inside = _shared(converted(function))
            # A decorator of TensorFlow's own kind: AutoGraph looks inside instead of hiding the function.
            _clones[function] = tf_decorator.make_decorator(
                inside, function._clone(python_function=inside), decorator_name="tf.function"
            )
        return _clones[function]
    return _shared(tf.__internal__.autograph.tf_convert(function, tf.__internal__.autograph.control_status_ctx()))


def _refuse_legacy_keras(function: Any) -> None:
    """Raises ScriptRefused for the steps of Keras 2 on several replicas: nothing here is under its loops."""
    innermost = tf_decorator.unwrap(getattr(function, "python_function", function))[1]
    module = getattr(innermost, "__module__", None) or ""
    count = tf.distribute.get_strategy().num_replicas_in_sync
    if count > 1 and module.partition(".")[0] == "tf_keras":
        raise ScriptRefused(
            f"A model of legacy Keras (tf_keras) would train on {count} replicas, and its losses and metrics would be "
            "each worker's own.",
            got=f"{innermost.__qualname__} of {module}",
            expected="a model of Keras 3: import keras, not tf_keras",
            fix="paceline run --workers 1 ..., or see https://keras.io/guides/migrating_to_keras_3/",
        )


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
