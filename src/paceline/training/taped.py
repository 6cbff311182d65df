"""Hook on gradient tapes: in an own `train_step` a gradient is that of the global batch, at once.

What the step then does with it (clips by its norm, takes its sign, adds it up over steps, differentiates it again) is
done to what one device would have. So this replica's part of a loss enters with its weight before it is differentiated,
also where the gradient is one of inputs; and what reaches a weight is summed over replicas. Inside Keras' own
`train_step` nothing looks at gradients, and they wait for the step's one sum.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import tensorflow as tf
from keras.src.backend.tensorflow.core import Variable
from tensorflow.python.eager import record

from paceline.training.current import current_step
from paceline.training.growth import FIXED
from paceline.training.losses import tell_if_whole
from paceline.training.step import Kind, ReplicaStep


def install() -> None:
    """Puts the hook in place. Once per worker."""
    gradient = tf.GradientTape.gradient

    @functools.wraps(gradient)
    def aggregated_gradient(
        self: Any, target: Any, sources: Any, output_gradients: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        step = current_step()
        if step is None or step.kind is not Kind.FIT or step.puts_off:
            return gradient(self, target, sources, output_gradients, *args, **kwargs)
        weighted = _weighted(step, target, output_gradients)
        found = gradient(self, target, sources, weighted, *args, **kwargs)
        return _aggregated(step, found, sources)

    tf.GradientTape.gradient = aggregated_gradient


def _weighted(step: ReplicaStep, target: Any, given: Any) -> list[Any]:
    """Returns the gradients that targets begin with, times this replica's weight. Collective: no."""
    targets = tf.nest.flatten(target)
    begins = [None] * len(targets) if given is None else tf.nest.flatten(given)
    return [_weighted_begin(step, one, begin) for one, begin in zip(targets, begins, strict=True)]


def _weighted_begin(step: ReplicaStep, target: Any, begin: Any) -> Any:
    if _is_variable(target) or isinstance(target, tf.IndexedSlices):
        return begin
    target = tf.convert_to_tensor(target)
    if not (target.dtype.is_floating or target.dtype.is_complex):
        return begin
    tell_if_whole(step, target, "a loss that a train_step differentiates")
    begin = tf.ones_like(target) if begin is None else tf.convert_to_tensor(begin)
    return begin * tf.cast(step.weight_of(target), begin.dtype)


def _aggregated(step: ReplicaStep, found: Any, sources: Any) -> Any:
    """Returns gradients of which those of variables are summed over replicas. Collective: yes."""
    wanted, gradients = tf.nest.flatten(sources), tf.nest.flatten(found)
    places = [i for i, source in enumerate(wanted) if _is_variable(source) and gradients[i] is not None]
    if not places:
        return found
    mine = [gradients[i] for i in places]
    # A tape that still records may differentiate this gradient.
    add = _differentiable_sum if record.could_possibly_record() else _sum
    sums = add(step, mine)
    step.sums_at_tapes = True
    for place, total in zip(places, sums, strict=True):
        gradients[place] = total
    return tf.nest.pack_sequence_as(found, gradients)


def _sum(step: ReplicaStep, gradients: list[Any]) -> list[Any]:
    return step.reduce_gradients(gradients, are_weighted=True)


def _differentiable_sum(step: ReplicaStep, gradients: list[Any]) -> list[Any]:
    """Returns sums through which a gradient finds back to every replica's addends. Collective: yes, as that is."""

    @tf.custom_gradient
    def add(*parts: Any) -> Any:
        def back(*upstream: Any) -> list[Any]:
            # Each replica's losses depend on the sums, and the sums on each replica's weights.
            return step.sum_over_replicas([tf.convert_to_tensor(part) for part in upstream])

        return tuple(_sum(step, list(parts))), back

    sums = list(add(*map(tf.convert_to_tensor, gradients)))
    for total in sums:
        step.growths.note(total, FIXED)
    return sums


def _is_variable(source: Any) -> bool:
    return isinstance(source, (Variable, tf.Variable, tf.distribute.DistributedValues))


def follow_from_sums(step: ReplicaStep, gradients: Iterable[Any]) -> bool:
    """Returns whether gradients are made of sums that the step has taken, of variables and of constants alone.

    Then they are the same on every replica. Where it is not known the answer is no, and they are summed again: the
    weights of replicas add up to one, so that this changes nothing but the time.
    """
    parts = [part for gradient in gradients if gradient is not None for part in _parts(gradient)]
    return step.sums_at_tapes and all(step.growths.of(part) == FIXED for part in parts)


def _parts(gradient: Any) -> list[Any]:
    if isinstance(gradient, tf.IndexedSlices):
        return [gradient.values, gradient.indices]
    # A variable of the script's own that gradients are added up in, and that is handed on itself.
    return [] if _is_variable(gradient) else [gradient]
