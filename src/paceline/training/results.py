"""Hook on Keras' metrics: a step knows which of its logs are results of metrics.

Such a log is not averaged over replicas: it is read again from the state of all of them.
"""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf
from keras.metrics import Metric
from keras.src.backend.tensorflow.core import Variable

from paceline.training.current import current_step


def install() -> None:
    """Watches `result` of every class of metrics that is used. Once per worker."""
    original = Metric.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        _watch(type(self))
        original(self, *args, **kwargs)

    Metric.__init__ = init


def _watch(owner: Any) -> None:
    for cls in owner.__mro__:
        original = vars(cls).get("result")
        if original is not None and callable(original) and not hasattr(original, "paceline_watched"):
            cls.result = _noting(original)


def _noting(original: Any) -> Any:
    @functools.wraps(original)
    def result(self: Any) -> Any:
        value = tf.nest.map_structure(_read, original(self))
        step = current_step()
        if step is not None:
            step.note_result(self, value)
        return value

    result.paceline_watched = True  # type: ignore[attr-defined]
    return result


def _read(value: Any) -> Any:
    """Returns the value of a variable that is itself the result: of several copies Keras can make no log."""
    if isinstance(value, (Variable, tf.Variable, tf.distribute.DistributedValues)):
        return tf.convert_to_tensor(value)
    return value
