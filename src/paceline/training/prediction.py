"""The predict function that Keras' loop calls: every worker gets the outputs of all rows, in order."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from keras.src.backend.tensorflow.trainer import concat

from paceline.training import current, outputs_of_rows
from paceline.training.functions import BeforeStep, runs_eagerly, trace
from paceline.training.gather import gather_outputs
from paceline.training.run import run_on_shares
from paceline.training.sizes import tell_if_of_largest_row
from paceline.training.step import Kind, ReplicaStep


def predict_function(model: Any, before_step: BeforeStep) -> Callable[[list[Any]], Any]:
    """Returns Keras' `predict_function`: takes a list of global batches, returns their outputs. Collective: yes.

    Every worker gets the outputs of all rows, in the order of the data.

    Raises:
        ScriptRefused: When called, with several replicas, by every worker: an output has no row for each row of the
            batch.

    Args:
        model: The model.
        before_step: Called before each batch with the model and a function that traces the step without running it.
    """
    strategy = model.distribute_strategy
    gather_rows = getattr(strategy, "transport", None)
    sure: list[int] = []  # the outputs that the graph shows to be made of rows; the same in every trace

    def on_replica(data: Any, rows: Any, *share: Any) -> Any:
        if strategy.num_replicas_in_sync == 1:
            return model.predict_step(data)
        step = ReplicaStep(Kind.PREDICT, rows, *share, data=data)
        with current.entered(step):
            outputs = model.predict_step(data)
        outputs, sure[:] = outputs_of_rows.cut(outputs, data, rows, step.growths)
        tell_if_of_largest_row(step)
        return outputs

    def one_step(batch: Any) -> Any:
        parts = run_on_shares(strategy, on_replica, batch)
        if len(parts) > 1:
            return tf.nest.map_structure(lambda *values: concat(values), *parts)
        if gather_rows is None or gather_rows.size == 1:
            return parts[0]
        return gather_outputs(parts[0], gather_rows.gather_rows)

    one_step = tf.autograph.experimental.do_not_convert(one_step)
    compiled = one_step if runs_eagerly(model) else tf.function(one_step, reduce_retracing=True)

    def function(batches: list[Any]) -> Any:
        outputs = None
        for batch in batches:
            before_step(model, functools.partial(trace, model, compiled, batch))
            following = compiled(batch)
            if strategy.num_replicas_in_sync > 1:
                outputs_of_rows.check(following, batch, sure)
            outputs = following if outputs is None else tf.nest.map_structure(_behind, outputs, following)
        return outputs

    return function


def _behind(first: Any, second: Any) -> Any:
    return concat([first, second])
