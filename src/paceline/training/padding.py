"""Hook on padding: what is padded to the longest row of a batch is so on every replica.

One device pads a batch to its longest row; a replica sees only some of the rows, and what does not mask (a recurrent
layer, a convolution, a mean) would compute other numbers. So replicas exchange how long their rows are, and take the
largest size of all.

Only what runs once in a step of all replicas can exchange something: not the body of a loop, nor a branch, which
replicas may enter as often as their rows say. There each pads to its own rows, and that is told.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from typing import Any

import tensorflow as tf
from keras.src.backend.common.symbolic_scope import in_symbolic_scope

from paceline.training import decisions
from paceline.training.current import current_step
from paceline.training.growth import FIXED
from paceline.training.step import Kind, ReplicaStep

#: Operations that take one row out of many: what is padded of it does not depend on the others.
_TAKE_ONE = {"TensorListGetItem", "TensorArrayReadV3"}
#: Where TensorFlow calls the functions of loops and branches, when it runs eagerly (2.19 to 2.21).
_CONTROL_FLOW = tuple(
    f"tensorflow.python.{name}"
    for name in (
        *("ops.while_loop", "ops.map_fn", "ops.cond", "ops.control_flow_case", "ops.control_flow_switch_case"),
        "framework.smart_cond",
    )
)


def install() -> None:
    """Puts the hook in place. Once per worker, where there are several replicas."""
    tf.RaggedTensor.to_tensor = _to_tensor(tf.RaggedTensor.to_tensor)
    tf.RaggedTensor.to_sparse = _to_sparse(tf.RaggedTensor.to_sparse)
    tf.sequence_mask = _sequence_mask(tf.sequence_mask)


def _to_tensor(original: Any) -> Any:
    @functools.wraps(original)
    def to_tensor(self: Any, default_value: Any = None, name: str | None = None, shape: Any = None) -> Any:
        wanted = _wanted(shape, self)
        open_axes = [] if wanted is None else _open_axes(self, wanted)
        step = _exchanging_step(_parts(self), "RaggedTensor.to_tensor") if open_axes else None
        if wanted is None or step is None:
            return original(self, default_value, name, shape)
        sizes = _largest(step, self.bounding_shape(open_axes, out_type=tf.int64))
        padded = original(self, default_value, name, _filled(wanted, open_axes, sizes, self))
        if self.shape.rank is not None:
            padded.set_shape([_known(want, size) for want, size in zip(wanted, self.shape, strict=True)])
        return padded

    return to_tensor


def _to_sparse(original: Any) -> Any:
    @functools.wraps(original)
    def to_sparse(self: Any, name: str | None = None) -> Any:
        sparse = original(self, name)
        open_axes = _open_axes(self, [None] * (1 + self.ragged_rank))
        step = _exchanging_step(_parts(self), "RaggedTensor.to_sparse") if open_axes else None
        if step is None:
            return sparse
        own = self.bounding_shape(open_axes, out_type=tf.int64)
        # A row that does not count must find its places too.
        sizes = tf.maximum(_largest(step, own), own)
        places = tf.constant([[axis] for axis in open_axes])
        shape = tf.tensor_scatter_nd_update(sparse.dense_shape, places, sizes)
        return tf.SparseTensor(sparse.indices, sparse.values, shape)

    return to_sparse


def _sequence_mask(original: Any) -> Any:
    @functools.wraps(original)
    def sequence_mask(lengths: Any, maxlen: Any = None, dtype: Any = tf.bool, name: str | None = None) -> Any:
        step = _exchanging_step([lengths], "tf.sequence_mask") if maxlen is None else None
        # Where the script itself shares its data out, it has padded each share for itself.
        if step is not None and step.has_shared_out:
            lengths = tf.convert_to_tensor(lengths)
            own = tf.maximum(tf.cast(tf.reduce_max(lengths), tf.int64), 0)
            maxlen = tf.cast(_largest(step, own[tf.newaxis])[0], lengths.dtype)
        return original(lengths, maxlen, dtype, name)

    return sequence_mask


# -- who exchanges -------------------------------------------------------------------------------


def _exchanging_step(parts: Sequence[Any], what: str) -> ReplicaStep | None:
    """Returns the step whose replicas exchange sizes; None where there is none, or where they are alike already.

    Args:
        parts: The tensors that sizes are taken from.
        what: The function that pads, in a person's words.
    """
    step = current_step()
    if step is None or step.kind is Kind.OWN_LOOP or step.num_replicas == 1 or in_symbolic_scope():
        return None
    if all(step.growths.of(part) == FIXED for part in parts):
        return None
    eager = tf.executing_eagerly()
    if step.runs_here() and not (eager and _is_in_control_flow()):
        return step
    if not eager and not any(_is_of_one_row(part) for part in parts):
        decisions.tell(
            f"{what} inside a loop, a branch or a function of TensorFlow's pads to the longest row that a replica has, "
            f"not to that of the batch; there are {step.num_replicas} replicas. Call it outside, or say how long"
        )
    return None


def _is_in_control_flow() -> bool:
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") in _CONTROL_FLOW:
            return True
        frame = frame.f_back
    return False


def _is_of_one_row(tensor: Any) -> bool:
    waiting, seen = [tensor], set[int]()
    while waiting:
        part = waiting.pop()
        if id(part) in seen or not hasattr(part, "op"):
            continue
        seen.add(id(part))
        if part.op.type in _TAKE_ONE:
            return True
        waiting += part.op.inputs
    return False


def _largest(step: ReplicaStep, sizes: Any) -> Any:
    """Returns the largest sizes of all replicas whose rows count, `[n]` int64 as `sizes`. Collective: yes."""
    mine = tf.where(step.counts, sizes, tf.zeros_like(sizes))
    place = tf.one_hot(step.replica, step.num_replicas, dtype=tf.int64)
    return tf.reduce_max(step.sum_over_replicas([place[:, tf.newaxis] * mine])[0], axis=0)


# -- shapes --------------------------------------------------------------------------------------


def _parts(ragged: Any) -> list[Any]:
    return list(ragged.nested_row_splits)


def _wanted(shape: Any, ragged: Any) -> list[Any] | None:
    """Returns each size that a caller of `to_tensor` gave: a number, a tensor (negative: none), or None.

    None by itself: the caller's tensor does not say how many sizes it has, or what it gave is for TensorFlow to refuse.
    """
    rank = ragged.shape.rank or 1 + ragged.ragged_rank
    if isinstance(shape, (list, tuple)):
        given = list(shape)
    elif tf.is_tensor(shape):
        static = tf.get_static_value(shape)
        if static is None and (shape.shape.rank != 1 or shape.shape[0] is None):
            return None
        given = ([-1] * rank if static.ndim == 0 else static.tolist()) if static is not None else tf.unstack(shape)
    else:
        known = tf.TensorShape(shape)
        given = [None] * rank if known.rank is None else known.as_list()
    if len(given) != rank:
        return None
    return [_size(size) for size in given]


def _size(given: Any) -> Any:
    static = tf.get_static_value(given) if tf.is_tensor(given) else given
    if static is None:
        return given
    return int(static) if int(static) >= 0 else None


def _open_axes(ragged: Any, wanted: list[Any]) -> list[int]:
    """Returns the axes whose size is that of the longest row; the first is the rows of the batch."""
    ragged_axes = range(1, 1 + ragged.ragged_rank)
    sizes = [None] * len(wanted) if ragged.shape.rank is None else ragged.shape.as_list()
    return [i for i in ragged_axes if sizes[i] is None and (wanted[i] is None or tf.is_tensor(wanted[i]))]


def _filled(wanted: list[Any], axes: list[int], sizes: Any, ragged: Any) -> Any:
    """Returns a shape, int64 `[rank]`, with `sizes` at the axes where the caller gave none; -1: TensorFlow's choice."""
    full = [tf.constant(-1, tf.int64) if size is None else tf.cast(size, tf.int64) for size in wanted]
    for place, axis in enumerate(axes):
        full[axis] = tf.where(full[axis] < 0, sizes[place], full[axis])
    shape = tf.stack(full)
    if ragged.shape.rank is None:
        shape = tf.concat([shape, tf.fill([tf.rank(ragged.flat_values) - 1], tf.constant(-1, tf.int64))], axis=0)
    return shape


def _known(wanted: Any, size: int | None) -> int | None:
    return size if wanted is None else None if tf.is_tensor(wanted) else wanted
