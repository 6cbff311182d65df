"""Refuses loops that would train N times the same instead of once on N replicas."""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf
from keras.src.backend.tensorflow.core import Variable as KerasVariable
from tensorflow.python.ops import resource_variable_ops

from paceline.errors import ScriptRefused

_TWO_LINES = (
    "dataset = paceline.strategy().experimental_distribute_dataset(dataset)  and  "
    "paceline.strategy().run(train_step, args=(batch,))"
)


_differentiated: dict[int, Any] = {}


def install() -> None:
    """Watches for loops that move weights along a gradient without any optimizer. Once per worker, before the script."""
    gradient = tf.GradientTape.gradient

    @functools.wraps(gradient)
    def watched_gradient(self: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
        strategy = tf.distribute.get_strategy()
        if strategy.num_replicas_in_sync > 1 and not _in_replica(strategy):
            for source in tf.nest.flatten(sources):
                variable = getattr(source, "value", source) if isinstance(source, KerasVariable) else source
                if isinstance(variable, tf.distribute.DistributedValues):
                    refuse("tape.gradient(...) outside of strategy.run(...)", strategy)
                if getattr(variable, "trainable", False):
                    _differentiated[id(variable)] = variable
        return gradient(self, target, sources, *args, **kwargs)

    tf.GradientTape.gradient = watched_gradient
    for name in ("assign_sub", "assign_add"):
        for owner in (resource_variable_ops.BaseResourceVariable, KerasVariable):
            setattr(owner, name, _refusing(getattr(owner, name), name))


def _refusing(original: Any, name: str) -> Any:
    @functools.wraps(original)
    def assign(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _differentiated:
            strategy = tf.distribute.get_strategy()
            variable = self.value if isinstance(self, KerasVariable) else self
            if id(variable) in _differentiated and not _in_replica(strategy):
                refuse(f"{name}(...) on {self.name} along its gradient, outside of strategy.run(...)", strategy)
        return original(self, *args, **kwargs)

    return assign


def check_end(strategy: Any) -> None:
    """Raises ScriptRefused if the script differentiated weights and its replicas never exchanged anything.

    Called once at the end of a script that ended well. Collective: no.
    """
    if _differentiated and not _exchanged:
        refuse("tape.gradient(...) outside of strategy.run(...); nothing was ever reduced", strategy)


_exchanged: list[bool] = []


def note_exchange() -> None:
    """Notes that replicas have combined something."""
    if not _exchanged:
        _exchanged.append(True)


def check_apply(optimizer: Any) -> None:
    """Raises ScriptRefused if an optimizer is used outside of every replica context of a job of several.

    Called by the hook on `optimizer.apply`. Collective: no.
    """
    strategy = tf.distribute.get_strategy()
    if strategy.num_replicas_in_sync > 1 and not _in_replica(strategy):
        refuse(f"{type(optimizer).__name__}.apply_gradients(...) outside of strategy.run(...)", strategy)


def _in_replica(strategy: Any) -> bool:
    context = tf.distribute.get_replica_context()
    return context is not None and context.strategy is strategy


def refuse(got: str, strategy: Any) -> None:
    """Raises ScriptRefused with the two lines that mend a bare training loop."""
    count = strategy.num_replicas_in_sync
    raise ScriptRefused(
        f"This training loop never combines the gradients of the {count} replicas: each would train by itself.",
        got=got,
        expected="the step inside strategy.run, on a dataset shared out by the strategy (or model.fit)",
        fix=_TWO_LINES,
    )
