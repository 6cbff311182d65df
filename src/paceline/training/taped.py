"""Hook on gradient tapes: in an own `train_step` a weight's gradient is that of the global batch, at once.

What the step then does with it (clips by its norm, takes its sign, adds it up over steps, logs it) is done to what
one device would have. Inside Keras' own `train_step` nothing looks at gradients, and they wait for the step's one sum.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import tensorflow as tf
from keras.src.backend.tensorflow.core import Variable
from tensorflow.python.eager import record

from paceline.training.current import current_step
from paceline.training.step import Kind, ReplicaStep

#: Where nobody finds out what a gradient was made of within so many operations, it is summed once more.
_MOST_OPERATIONS = 5_000
_READS = {"ReadVariableOp", "ResourceGather", "Const", "VarHandleOp"}


def install() -> None:
    """Puts the hook in place. Once per worker."""
    gradient = tf.GradientTape.gradient

    @functools.wraps(gradient)
    def aggregated_gradient(self: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
        found = gradient(self, target, sources, *args, **kwargs)
        step = current_step()
        if step is None or step.kind is not Kind.FIT or step.puts_off or record.could_possibly_record():
            # A tape that still records may differentiate this gradient, and no sum between workers has a gradient.
            return found
        return _aggregated(step, found, sources)

    tf.GradientTape.gradient = aggregated_gradient


def _aggregated(step: ReplicaStep, found: Any, sources: Any) -> Any:
    """Returns gradients of which those of variables are summed over replicas. Collective: yes."""
    wanted, gradients = tf.nest.flatten(sources), tf.nest.flatten(found)
    places = [i for i, source in enumerate(wanted) if _is_variable(source) and gradients[i] is not None]
    sums = step.reduce_gradients([gradients[i] for i in places])
    step.reduced += sums
    for place, total in zip(places, sums, strict=True):
        gradients[place] = total
    return tf.nest.pack_sequence_as(found, gradients)


def _is_variable(source: Any) -> bool:
    return isinstance(source, (Variable, tf.Variable, tf.distribute.DistributedValues))


def follow_from_sums(step: ReplicaStep, gradients: Iterable[Any]) -> bool:
    """Returns whether gradients are made of sums that the step has taken, of variables and of constants alone.

    Then they are the same on every replica. Where it is not known the answer is no, and they are summed again: the
    weights of replicas add up to one, so that this changes nothing but the time.
    """
    sums = {id(part) for total in step.reduced for part in _parts(total)}
    if not sums:
        return False
    waiting = [part for gradient in gradients if gradient is not None for part in _parts(gradient)]
    seen: set[int] = set()
    while waiting:
        tensor = waiting.pop()
        if id(tensor) in sums or id(tensor) in seen:
            continue
        seen.add(id(tensor))
        made_of = _made_of(tensor)
        if made_of is None or len(seen) > _MOST_OPERATIONS:
            return False
        waiting += made_of
    return True


def _parts(gradient: Any) -> list[Any]:
    if isinstance(gradient, tf.IndexedSlices):
        return [gradient.values, gradient.indices]
    # A variable of the script's own that gradients are added up in, and that is handed on itself.
    return [] if _is_variable(gradient) else [gradient]


def _made_of(tensor: Any) -> list[Any] | None:
    """Returns the tensors that a tensor of a graph is computed from; None: it may differ between replicas."""
    if not hasattr(tensor, "graph"):
        return None
    operation = tensor.op
    if operation.type in _READS:
        return []
    if operation.type == "Placeholder":
        outer = [outside for outside, inside in getattr(tensor.graph, "captures", ()) if inside is tensor]
        return outer or None
    if operation.op_def.is_stateful:
        return None
    return list(operation.inputs)
