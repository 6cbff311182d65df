"""Refuses loops that would train N times the same instead of once on N replicas.

What counts is a weight that is moved along its gradient where no replica is running.
Differentiating alone is no training (saliency, gradient norms), nor is putting back
what was saved (`load_weights`, `tf.train.Checkpoint.restore`).

=============================================== =============================================
after `tape.gradient` for a weight, outside of  the loop is refused
`strategy.run` and of `fit`
=============================================== =============================================
`optimizer.apply`, `optimizer.apply_gradients`  at once
`assign_sub`, `assign_add`                      at once
`assign`, `set_weights`                         at once inside a `tf.function`, else at the second
                                                time: once is how weights are put back
by another way                                  at the end, if replicas never combined anything
=============================================== =============================================
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras.src.backend.tensorflow.core import Variable as KerasVariable
from tensorflow.python.distribute import values as distributed_values
from tensorflow.python.ops import resource_variable_ops

from paceline.errors import ScriptRefused
from paceline.training.origin import line_of_script

_LINES = (
    "strategy = paceline.strategy()   at the top; model and optimizer are made in   with strategy.scope():\n"
    "dataset = strategy.experimental_distribute_dataset(dataset)\n"
    "loss = strategy.run(train_step, args=(x, y))   for train_step(x, y),   args=(batch,)   for train_step(batch)\n"
    'strategy.reduce("SUM", loss, axis=None)   is the loss of the batch. Gradients are added too: divide a mean of\n'
    "your own (tf.reduce_mean, model.losses) by strategy.num_replicas_in_sync; keras.losses.MeanSquaredError() and\n"
    "its like do so themselves"
)
_NO_MODEL = (
    "or, where an input is trained and no model (style transfer): paceline run --workers 1 --strategy one-device"
)

#: Where TensorFlow defines assignments: again in `ResourceVariable`, for weak types, which hides a patched base.
_VARIABLES = (
    resource_variable_ops.BaseResourceVariable,
    resource_variable_ops.ResourceVariable,
    distributed_values.DistributedVariable,
)


@dataclass
class _Differentiated:
    """A weight whose gradient was taken where no replica is running.

    Attributes:
        variable: The weight; held, so that its id stays its own.
        bits: Hash of its value at the first time; None: it had no value.
        in_graph: Whether the gradient was last taken while a `tf.function` was traced.
        takes: After which of the gradients it was assigned to.
    """

    variable: Any
    bits: str | None
    in_graph: bool = False
    takes: set[int] = field(default_factory=set)


class _Watch:
    """What was seen in this process."""

    def __init__(self) -> None:
        self.weights: dict[int, _Differentiated] = {}
        self.num_gradients = 0
        self.inside_keras = 0
        self.restoring = 0
        self.exchanged = False


_watch = _Watch()


def install() -> None:
    """Watches gradients, assignments and restores. Once per worker, before the script."""
    gradient = tf.GradientTape.gradient

    @functools.wraps(gradient)
    def watched_gradient(self: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
        strategy = tf.distribute.get_strategy()
        if not _watch.inside_keras and strategy.num_replicas_in_sync > 1 and not _in_replica(strategy):
            _note_gradient(sources)
        return gradient(self, target, sources, *args, **kwargs)

    tf.GradientTape.gradient = watched_gradient
    for name in ("assign", "assign_sub", "assign_add"):
        for owner in _VARIABLES:
            if name in vars(owner):
                setattr(owner, name, _watched_assign(vars(owner)[name], name))
    for name in ("assign_sub", "assign_add"):
        setattr(KerasVariable, name, _watched_assign(getattr(KerasVariable, name), name))
    for restorer, name in (
        (keras.Model, "load_weights"),
        (tf.train.Checkpoint, "restore"),
        (tf.train.Checkpoint, "read"),
    ):
        setattr(restorer, name, _restoring(getattr(restorer, name)))


def _note_gradient(sources: Any) -> None:
    _watch.num_gradients += 1
    for source in tf.nest.flatten(sources):
        variable = getattr(source, "value", source) if isinstance(source, KerasVariable) else source
        if not getattr(variable, "trainable", False):
            continue
        if isinstance(variable, tf.distribute.DistributedValues):
            # Several copies in one process: TensorFlow takes no gradient of them out here, and says so obscurely.
            refuse(_called("tape.gradient"), tf.distribute.get_strategy())
        known = _watch.weights.get(id(variable))
        if known is None:
            known = _watch.weights[id(variable)] = _Differentiated(variable, _bits(variable))
        known.in_graph = not tf.executing_eagerly()


def _bits(variable: Any) -> str | None:
    try:
        with tf.init_scope():
            array = np.ascontiguousarray(tf.convert_to_tensor(variable))
    except (tf.errors.FailedPreconditionError, AttributeError, TypeError):
        return None
    return hashlib.blake2b(array.tobytes(), digest_size=8).hexdigest()


def _watched_assign(original: Any, name: str) -> Any:
    @functools.wraps(original)
    def assign(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _watch.weights and not _watch.inside_keras:
            _note_assignment(self.value if isinstance(self, KerasVariable) else self, name)
        return original(self, *args, **kwargs)

    return assign


def _note_assignment(variable: Any, name: str) -> None:
    known = _watch.weights.get(id(variable))
    strategy = tf.distribute.get_strategy()
    if known is None or _in_replica(strategy):
        return
    if _watch.restoring:
        del _watch.weights[id(variable)]
        return
    known.takes.add(_watch.num_gradients)
    if name != "assign" or len(known.takes) > 1 or (known.in_graph and not tf.executing_eagerly()):
        refuse(_called(name, f" on {variable.name} along its gradient"), strategy)


def _restoring(original: Any) -> Any:
    @functools.wraps(original)
    def restore(self: Any, *args: Any, **kwargs: Any) -> Any:
        with not_training():
            result = original(self, *args, **kwargs)
        if isinstance(self, tf.train.Checkpoint):  # assigns in C++, unseen, and some of it later
            _watch.weights.clear()
        return result

    return restore


@contextlib.contextmanager
def not_training() -> Iterator[None]:
    """Within it, assignments put back what was saved, or bring workers to one value."""
    _watch.restoring += 1
    try:
        yield
    finally:
        _watch.restoring -= 1


@contextlib.contextmanager
def keras_trains() -> Iterator[None]:
    """Within it, Keras' own loops run: what callbacks do with gradients there is no training loop."""
    _watch.weights.clear()
    _watch.inside_keras += 1
    try:
        yield
    finally:
        _watch.inside_keras -= 1


def check_end(strategy: Any) -> None:
    """Raises ScriptRefused if weights were moved after their gradient and replicas never exchanged anything.

    Called once at the end of a script that ended well. Collective: no.
    """
    if _watch.exchanged:
        return
    for known in _watch.weights.values():
        if known.takes or known.bits is None or _bits(known.variable) != known.bits:
            got = f"{known.variable.name} has changed since its gradient was taken; nothing was ever reduced"
            refuse(got, strategy)


def note_exchange() -> None:
    """Notes that replicas have combined something."""
    _watch.exchanged = True


def check_apply(optimizer: Any) -> None:
    """Raises ScriptRefused if an optimizer is used outside of every replica context of a job of several.

    Called by the hook on `optimizer.apply`. Collective: no.
    """
    strategy = tf.distribute.get_strategy()
    if strategy.num_replicas_in_sync > 1 and not _in_replica(strategy):
        refuse(_called("apply", of=f"{type(optimizer).__name__}."), strategy)


def _in_replica(strategy: Any) -> bool:
    context = tf.distribute.get_replica_context()
    return context is not None and context.strategy is strategy


#: Methods that scripts call, and that call what is watched.
_ABOVE = ("apply_gradients", "set_weights")


def _called(name: str, what: str = "", *, of: str = "") -> str:
    """Returns what the script has called, and where.

    Args:
        name: What was seen: the script may have called something that calls it.
        what: What it does.
        of: Whose method it is.
    """
    line = line_of_script()
    name = next((call for call in line.calls if call in _ABOVE), name) if line is not None else name
    where = f", at {line.place}: {line.source}" if line is not None else ""
    return f"{of}{name}(...){what} outside of strategy.run(...){where}"


def refuse(got: str, strategy: Any) -> None:
    """Raises ScriptRefused with the lines that mend a bare training loop."""
    count = strategy.num_replicas_in_sync
    raise ScriptRefused(
        f"This training loop never combines the gradients of the {count} replicas: each would train by itself.",
        got=got,
        expected="the step inside strategy.run, on a dataset shared out by the strategy (or model.fit)",
        fix=f"{_LINES}\n{_NO_MODEL}",
    )
