"""Hook on Keras' losses: what a replica computes, weighted by its rows, adds up to the global batch's loss.

A replica's loss enters the global one with weight `rows / total`. That is right for
a mean over rows. Other reductions get the factor that makes it right:

=========================== ==================== =================================
reduction                   one device divides   factor on a replica
=========================== ==================== =================================
mean, sum_over_batch_size   by rows              1
the same with a mask        by valid entries     (valid / all valid) * total / rows
mean_with_sample_weight     by sum of weights    (sum / sum of all) * total / rows
sum                         by nothing           total / rows
=========================== ==================== =================================

A function of the script's own that returns a number, an own `compute_loss` and `add_loss` are looked at in the graph
(`growth.py`): a sum over rows gets its factor; what is neither mean nor sum is told.

Source: the divisors in `keras/src/losses/loss.py` (`reduce_values`, `apply_mask`).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf
from keras.layers import Layer
from keras.losses import Loss
from keras.src.backend.tensorflow.trainer import TensorFlowTrainer
from keras.src.losses import loss as loss_module
from keras.src.trainers.compile_utils import CompileLoss
from keras.src.trainers.trainer import Trainer

from paceline.training import decisions
from paceline.training.current import current_step
from paceline.training.growth import MEAN, Form
from paceline.training.step import Kind, ReplicaStep


def install() -> None:
    """Puts the hooks in place. Once per worker."""
    reduce_weighted_values = loss_module.reduce_weighted_values
    scale = loss_module.scale_loss_for_distribution
    unscale = loss_module.unscale_loss_for_distribution

    def corrected(
        values: Any,
        sample_weight: Any = None,
        mask: Any = None,
        reduction: Any = "sum_over_batch_size",
        dtype: Any = None,
    ) -> Any:
        loss = reduce_weighted_values(values, sample_weight, mask, reduction, dtype)
        step = _mean_step()
        if step is None or loss.shape.rank != 0:
            return loss
        if values.shape.rank == 0 and reduction != "sum":
            tell_if_whole(step, values, "a loss function that returns one number")
            return step.as_mean(loss)
        tell_if_mixed(step, values, "a loss")
        if reduction == "sum" and not step.is_in_compiled_loss and not tf.executing_eagerly():
            return loss  # what the step goes on to do with it the graph tells
        factor = _factor(step, values, sample_weight, mask, reduction)
        loss = loss if factor is None else loss * tf.cast(factor, loss.dtype)
        step.growths.note(loss, MEAN)
        return loss

    CompileLoss.call = _entering(CompileLoss.call)
    Loss.__init__ = _watching(Loss.__init__)
    tf.nn.compute_average_loss = _of_one_device(tf.nn.compute_average_loss, among="global_batch_size")
    tf.nn.scale_regularization_loss = _of_one_device(tf.nn.scale_regularization_loss)
    TensorFlowTrainer._aggregate_additional_loss = _as_mean(
        TensorFlowTrainer._aggregate_additional_loss, "what add_loss was given", lambda _: True
    )
    # Of Keras' own the parts are means already.
    Trainer._compute_loss = _as_mean(
        Trainer._compute_loss,
        "what an own compute_loss returns",
        lambda model: type(model).compute_loss is not Trainer.compute_loss,
    )
    if _sums_activity_regularizers():
        Layer.activity_regularizer = property(_activity_regularizer, _set_activity_regularizer)
    loss_module.reduce_weighted_values = corrected
    loss_module.scale_loss_for_distribution = lambda value: value if _mean_step() else scale(value)
    loss_module.unscale_loss_for_distribution = lambda value: value if _mean_step() else unscale(value)


def _entering(original: Any) -> Any:
    """Returns `CompileLoss.call`, in which a loss has to be a mean: it is what Keras' own step takes it for."""

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        step = _mean_step()
        if step is None:
            return original(self, *args, **kwargs)
        step.is_in_compiled_loss = True
        try:
            return original(self, *args, **kwargs)
        finally:
            step.is_in_compiled_loss = False

    return call


def _watching(original: Any) -> Any:
    """Returns `Loss.__init__`, which looks whether a class calls what this module hooks, or has its own `__call__`."""

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        for owner in type(self).__mro__:
            own = vars(owner).get("__call__") if issubclass(owner, Loss) and owner is not Loss else None
            if own is not None and not hasattr(own, "paceline_watched"):
                setattr(owner, "__call__", _own_call(own))  # noqa: B010  mypy: a method
        original(self, *args, **kwargs)

    return init


def _own_call(original: Any) -> Any:
    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        loss = original(self, *args, **kwargs)
        step = _mean_step()
        if step is None or not step.is_in_compiled_loss or not isinstance(loss, tf.Tensor) or loss.shape.rank != 0:
            return loss
        tell_if_whole(step, loss, f"the loss {self.name}")
        return step.as_mean(loss)

    call.paceline_watched = True  # type: ignore[attr-defined]
    return call


def _of_one_device(original: Any, among: str = "") -> Any:
    """Returns a function of TensorFlow's that divides by the number of replicas, for sums of an own loop to be means.

    In `fit` replicas are averaged already, and a script that calls it there means what one device computes.

    Args:
        original: The function.
        among: It does not divide where this argument is given.
    """
    signature = inspect.signature(original)

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        loss = original(*args, **kwargs)
        step = _mean_step()
        given = among and signature.bind(*args, **kwargs).arguments.get(among) is not None
        return loss if step is None or given else loss * tf.cast(step.num_replicas, loss.dtype)

    return function


def _as_mean(original: Any, what: str, is_own: Callable[[Any], bool]) -> Any:
    """Returns a method of a model's that computes a loss: a mean over this replica's rows where it is a sum.

    Args:
        original: The method.
        what: What it returns, in a person's words.
        is_own: Whether a model's loss may be one of the script's own.
    """

    @functools.wraps(original)
    def compute(self: Any, *args: Any, **kwargs: Any) -> Any:
        loss = original(self, *args, **kwargs)
        step = _mean_step()
        if step is None or not is_own(self) or not isinstance(loss, tf.Tensor):
            return loss
        tell_if_whole(step, loss, f"{self.name}: {what}")
        return step.as_mean(loss)

    return compute


def tell_if_whole(step: ReplicaStep, loss: Any, what: str) -> None:
    """Tells of a loss that is no mean and no sum over rows: N replicas have other ones than one device.

    Args:
        step: The running step.
        loss: A tensor.
        what: What it is, in a person's words.
    """
    growth = step.growths.of(loss) if step.num_replicas > 1 else None
    if growth is not None and growth.is_whole:
        decisions.tell(
            f"{what} is no mean or sum over rows, as far as its graph shows: each of the {step.num_replicas} replicas "
            "computes it of its own rows, and the mean of these is taken"
        )
        step.growths.note(loss, MEAN)


def tell_if_mixed(step: ReplicaStep, values: Any, what: str) -> None:
    """Tells where something compares the rows of a batch with each other.

    Args:
        step: The running step.
        values: A tensor that has a row for each of the batch, or is made of those.
        what: What it belongs to, in a person's words.
    """
    growth = step.growths.of(values) if step.num_replicas > 1 else None
    if growth is not None and growth.form is Form.MIXED:
        decisions.tell(
            f"{what} compares the rows of a batch with each other, as far as its graph shows: each of the "
            f"{step.num_replicas} replicas compares its own rows"
        )


def _sums_activity_regularizers() -> bool:
    """Returns whether this Keras sums activity regularizers over the batch (3.10), or divides by its rows (3.15)."""
    layer = keras.layers.ActivityRegularization(l2=1.0)
    layer(tf.ones([2, 1]))
    return bool(float(layer.losses[0]) > 1.5)


def _activity_regularizer(layer: Any) -> Any:
    """Returns a layer's activity regularizer; inside a step with the factor that makes its sum the global batch's."""
    regularizer = layer.__dict__.get("activity_regularizer")
    step = _mean_step()
    if regularizer is None or step is None:
        return regularizer

    def regularize(output: Any) -> Any:
        loss = regularizer(output)
        return loss * tf.cast(tf.math.divide_no_nan(step.total, step.rows), loss.dtype)

    return regularize


def _set_activity_regularizer(layer: Any, regularizer: Any) -> None:
    layer.__dict__["activity_regularizer"] = regularizer


def _mean_step() -> ReplicaStep | None:
    step = current_step()
    return step if step is not None and step.kind in (Kind.FIT, Kind.TEST) else None


def _factor(step: ReplicaStep, values: Any, sample_weight: Any, mask: Any, reduction: Any) -> Any:
    """Returns the factor of the table above, None for 1."""
    if reduction in ("mean", "sum_over_batch_size"):
        if mask is None:
            return None
        mine = tf.reduce_sum(tf.cast(mask, tf.float32))
    elif reduction == "mean_with_sample_weight":
        merged = loss_module.apply_mask(
            None if sample_weight is None else tf.cast(tf.convert_to_tensor(sample_weight), tf.float32),
            mask,
            dtype="float32",
            reduction=reduction,
        )
        if merged is None:
            return None
        mine = tf.reduce_sum(tf.cast(merged, tf.float32))
    elif reduction == "sum":
        return tf.math.divide_no_nan(step.total, step.rows)
    else:
        return None
    mine = tf.stop_gradient(tf.where(step.counts, mine, 0.0))
    everybody = step.sum_over_replicas([mine])[0]
    return tf.stop_gradient(tf.math.divide_no_nan(mine, everybody) * tf.math.divide_no_nan(step.total, step.rows))


def of_whole_batches(model: Any) -> list[str]:
    """Returns the names of a model's losses that are no mean over rows: N replicas have other ones than one device.

    Keras' Dice and Tversky sum over the batch unless they are given axes without it, and Circle compares its rows.
    """
    given = getattr(getattr(model, "_compile_loss", None), "_user_loss", None)
    return [str(getattr(loss, "name", loss)) for loss in tf.nest.flatten(given) if _is_of_whole_batches(loss)]


def _is_of_whole_batches(loss: Any) -> bool:
    if isinstance(loss, (keras.losses.Dice, keras.losses.Tversky)):
        axes = loss.axis
        return axes is None or 0 in tf.nest.flatten(axes)
    named = loss if isinstance(loss, str) else getattr(loss, "__name__", "")
    return isinstance(loss, keras.losses.Circle) or str(named).lower() in {"dice", "tversky", "circle"}
