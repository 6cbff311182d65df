"""Outputs of a prediction have a row for each row of the batch: else replicas' outputs cannot be put together."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import keras
import tensorflow as tf

from paceline.data.share import cut_rows, first_with_rows, rows_of, total_rows, without_optionals
from paceline.errors import ScriptRefused
from paceline.training.growth import Form, Growth, Growths


def cut(outputs: Any, data: Any, rows: tf.Tensor, growths: Growths) -> tuple[Any, list[int]]:
    """Returns one replica's outputs of the rows that count, and which of the outputs `check` need not look at.

    Of an output that has other rows than the batch none is left, and `check` finds it; but one that the graph shows to
    be made of rows one by one may have left some out (`tf.boolean_mask`). Called by every replica, in a step.
    Collective: no.

    Args:
        outputs: What `predict_step` returned.
        data: What it saw.
        rows: How many of its rows count, int32 scalar: all, or none of a stand-in.
        growths: What is known of the step's tensors.

    Raises:
        ScriptRefused: By its shape or its graph an output has no rows, or a number of them that is always the same.
    """
    first = first_with_rows(without_optionals(data))
    named = _named(outputs)
    known = [growths.of(value) for _, value in named]
    flat = [_cut(name, value, first, rows, growth) for (name, value), growth in zip(named, known, strict=True)]
    sure = [place for place, growth in enumerate(known) if growth is not None and growth.form is Form.PER_ROW]
    return tf.nest.pack_sequence_as(outputs, flat), sure


def _cut(name: str, value: Any, first: Any, rows: tf.Tensor, growth: Growth | None) -> Any:
    if not isinstance(value, (tf.RaggedTensor, tf.SparseTensor)):
        value = tf.convert_to_tensor(value)
    if value.shape.rank == 0:
        raise _no_rows(f"{name} is one number for a whole batch, as a mean is")
    if growth is not None and growth.form is Form.MIXED:
        raise _no_rows(f"{name}, of shape {value.shape}, compares the rows of a batch with each other")
    if value.shape.rank is None:
        if hasattr(tf.distribute.get_strategy(), "transport"):  # a buffer between workers is of a shape
            raise _no_rows(f"{name} has a shape that is not known before it runs: value.set_shape([None, ...])")
        none = tf.zeros([0], value.dtype)
        return tf.cond(tf.equal(tf.rank(value), 0), lambda: none, lambda: _matching(value, first, rows))
    known, given = value.shape[0], first.shape[0]
    # Eager tensors always know: there one worker may see by chance what another does not, so `check` finds it.
    if not tf.executing_eagerly() and known is not None and known != given:
        seen = "whatever number of rows a batch has" if given is None else f"for {given} rows of a batch"
        raise _no_rows(f"{name} has shape {value.shape}: {known} rows, {seen}")
    if growth is not None and growth.form is Form.PER_ROW:
        return cut_rows(value, tf.where(rows > 0, rows_of(value), 0))
    return _matching(value, first, rows)


def _matching(value: Any, first: Any, rows: tf.Tensor) -> Any:
    return cut_rows(value, tf.where(tf.equal(rows_of(value), rows_of(first)), rows, 0))


def check(outputs: Any, batch: Any, sure: Collection[int] = ()) -> None:
    """Raises ScriptRefused, on every worker alike, if an output of all replicas has other rows than the batch.

    Looks at shapes alone, which are known without waiting for what is in them. Collective: no.

    Args:
        outputs: Of all replicas.
        batch: The global batch.
        sure: Places of outputs that are not looked at (`cut`).
    """
    wanted = _count(first_with_rows(without_optionals(batch)))
    wrong = [
        place for place, value in enumerate(tf.nest.flatten(outputs)) if place not in sure and _count(value) != wanted
    ]
    if wrong:
        name, _ = _named(outputs)[wrong[0]]
        raise _no_rows(f"{name} has not as many rows as the batch, of which there are {wanted}")


def _count(value: Any) -> int:
    known = value.shape[0]
    return int(total_rows(value)) if known is None else int(known)


def _named(outputs: Any) -> list[tuple[str, Any]]:
    """Returns the outputs one by one, each with what a person calls it."""
    paths = [path for path, _ in keras.tree.flatten_with_path(outputs)]
    values = tf.nest.flatten(outputs)
    names = (
        ["/".join(str(step) for step in path) for path in paths] if len(paths) == len(values) else [""] * len(values)
    )
    return [(f"output {name!r}" if name else "the output", value) for name, value in zip(names, values, strict=True)]


def _no_rows(got: str) -> ScriptRefused:
    return ScriptRefused(
        "predict puts the rows of all replicas together in order, and an output has no row for each row of the batch.",
        got=got,
        expected="outputs whose first axis is the rows of the batch, from the model and from its predict_step",
        fix="return what there is for each row, and take the mean of what predict returns   or   "
        "paceline run --workers 1 ...",
    )
