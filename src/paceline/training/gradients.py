"""Hook on Keras' optimizers: gradients are aggregated first, and everything else is done to the aggregate.

Stock Keras 3 clips, accumulates and checks for overflow on each replica's own
gradients and aggregates last, so that a clipped update grows with the number of
replicas, accumulation fails under MirroredStrategy, and one replica's overflow is
not seen by the others.
"""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf
from keras.src.backend.tensorflow.optimizer import TFOptimizer
from keras.src.optimizers.base_optimizer import BaseOptimizer
from keras.src.optimizers.loss_scale_optimizer import LossScaleOptimizer

from paceline.training import agreement, guard
from paceline.training.current import current_step, gradients_are_reduced, reduced_gradients
from paceline.training.step import Kind, PutOff, ReplicaStep
from paceline.training.taped import follow_from_sums


def install() -> None:
    """Puts the hooks in place. Once per worker."""
    for owner in (BaseOptimizer, LossScaleOptimizer):
        owner.apply = _reducing(owner.apply)
        owner.scale_loss = _weighting(owner.scale_loss)
    for name in (
        "_backend_update_step",
        "_apply_weight_decay",
        "_backend_increment_gradient_accumulators",
        "_overwrite_model_variables_with_average_value",
    ):
        setattr(TFOptimizer, name, _local(getattr(TFOptimizer, name), getattr(BaseOptimizer, name)))
    LossScaleOptimizer._tf_apply = _local(LossScaleOptimizer._tf_apply, LossScaleOptimizer._common_apply)


def _weighting(scale_loss: Any) -> Any:
    """Returns `optimizer.scale_loss`, called before the gradient is taken, with the replica's weight in it."""

    @functools.wraps(scale_loss)
    def weighting_scale_loss(self: Any, loss: Any) -> Any:
        step = current_step()
        return scale_loss(self, loss if step is None else step.weighted_loss(loss))

    return weighting_scale_loss


def _reducing(apply: Any) -> Any:
    """Returns `optimizer.apply` that reduces the gradients before it does anything else."""

    @functools.wraps(apply)
    def reducing_apply(self: Any, grads: Any, trainable_variables: Any = None) -> Any:
        if gradients_are_reduced():
            return apply(self, grads, trainable_variables)
        step = current_step()
        if step is not None and not self.built and trainable_variables is not None:
            step.once_for_all_replicas(lambda: self.build(list(trainable_variables)))
        if step is None:
            guard.check_apply(self)
            return apply(self, grads, trainable_variables)
        grads = list(grads)
        variables = list(self._trainable_variables if trainable_variables is None else trainable_variables)
        for gradient, variable in zip(grads, variables, strict=False):
            if isinstance(gradient, tf.Tensor):  # known even where the graph has lost it (a Dense on three axes)
                gradient.set_shape(variable.shape)
        if step.puts_off and not step.put_off:
            step.put_off.append(PutOff(self, grads, variables))
            return None
        return _apply_reduced(apply, self, step, grads, variables)

    return reducing_apply


def _apply_reduced(apply: Any, optimizer: Any, step: ReplicaStep, grads: list[Any], variables: list[Any]) -> Any:
    if step.kind is Kind.OWN_LOOP:
        transport = getattr(step.context.strategy, "transport", None)
        replaced = agreement.check_own_loop(optimizer, variables, transport)
        agreement.tell_replaced(f"the loop with {type(optimizer).__name__}", replaced)
    reduced = grads if follow_from_sums(step, grads) else step.reduce_gradients(grads)
    with reduced_gradients():
        return apply(optimizer, reduced, variables)


def _local(stock: Any, plain: Any) -> Any:
    """Returns a method that, once gradients are reduced, acts on this replica's variables directly.

    Every replica has the same gradients and the same variables then: nothing is left to
    agree on, and `merge_call`, which cannot stand inside a condition, is not needed.
    """

    @functools.wraps(stock)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if gradients_are_reduced():
            return plain(self, *args, **kwargs)
        return stock(self, *args, **kwargs)

    return method


def adopt(optimizer: Any, strategy: Any) -> None:
    """Makes an optimizer that was constructed outside of the strategy's scope belong to it."""
    while optimizer is not None:
        if isinstance(optimizer, tf.Module) or hasattr(optimizer, "_distribution_strategy"):
            optimizer._distribution_strategy = strategy
        optimizer = getattr(optimizer, "inner_optimizer", None)
