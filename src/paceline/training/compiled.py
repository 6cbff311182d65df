"""A step that XLA compiles in two halves, around the one sum over replicas that stands between them.

First half: forward pass, backward pass, and everything that travels put into a few flat
buffers. Second half: the buffers taken apart, states and weights brought up to date. No
transport works inside XLA, so the sum is taken outside.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from paceline.collectives.forbidden import no_collectives
from paceline.collectives.fused import Piece, pack, unpack
from paceline.training import current, progress
from paceline.training.ending import Carried, Plan, collect, settle
from paceline.training.late import LateStates, Place
from paceline.training.run import own_rows
from paceline.training.slices import looks_up_alike, mark_alike
from paceline.training.step import Kind, ReplicaStep


class _Layout(NamedTuple):
    """What the first half's buffers hold; no tensors.

    Attributes:
        plan: What is done with the sums.
        is_slices: For each addend, whether it is `IndexedSlices`.
        alike: For each of these, whether all replicas look up the same rows.
        dense: Where the other addends lie.
        before: Where the states' values from before the step lie.
        attempts: Whether anything keeps the step from being cut: collectives in its middle, addends of no fixed shape.
    """

    plan: Plan
    is_slices: list[bool]
    alike: list[bool]
    dense: list[Piece]
    before: list[Piece]
    attempts: int


class _Packed(NamedTuple):
    """The tensors that leave the first half.

    Attributes:
        buffers: This replica's dense addends.
        slices: Its other addends.
        before: The states' values from before the step.
        share: Rows of this replica, rows of all, fingerprint of the global batch.
    """

    buffers: list[tf.Tensor]
    slices: list[tf.IndexedSlices]
    before: list[tf.Tensor]
    share: list[tf.Tensor]


def compiled_step(
    model: Any, kind: Kind, step_of: Callable[[Any], Any], seen: list[Any], *, late: LateStates, place: Place
) -> Callable[..., Any]:
    """Returns what one replica does in one step, with both halves compiled by XLA.

    The function takes a replica's share, or the global batch alone: then the share is taken inside, where it costs
    next to nothing. It returns None, and has done nothing, where that cannot be: something is exchanged in the step's
    middle, or a log has no fixed shape.

    Args:
        model: The model.
        kind: `FIT` or `TEST`.
        step_of: The model's `train_step` or `test_step`, which puts its update off.
        seen: Variables that an earlier trace of the same step assigned to; added to.
        late: The states that are summed in a group's last step only.
        place: Where in a group the step stands.
    """
    layouts: list[_Layout] = []

    def first_half(is_late: Any, data: Any, *share: Any) -> _Packed:
        if not share:
            data, *rest = own_rows(data)
            share = tuple(rest)
        step = ReplicaStep(kind, *share, puts_off=True, known=seen, late=late, place=place, is_late=is_late, data=data)
        with current.entered(step), no_collectives() as counted:
            plan, tensors = collect(step, step_of(data))
        step.remember(seen)
        undefined = any(_is_undefined(value) for value in [*tensors.gradients, *tensors.rest])
        layout, packed = _packed(step, plan, tensors, counted.count + undefined, share)
        layouts[:] = [layout]
        return packed

    def second_half(buffers: Any, slices: Any, before: Any, *share: Any) -> Any:
        layout = layouts[0]
        step = ReplicaStep(kind, *share)
        dense, sparse = iter(unpack(buffers, layout.dense)), iter(slices)
        sums = [next(sparse) if is_slices else next(dense) for is_slices in layout.is_slices]
        kept = itertools.repeat(None)  # what cannot be added cannot be compiled, but for nothing at all
        return settle(step, layout.plan, sums, unpack(before, layout.before), model.metrics, kept)

    first, second = _compiled(first_half), _compiled(second_half)

    def step_in_two_halves(data: Any, *share: Any) -> Any:
        is_late = progress.is_late()  # XLA has no clock
        first.get_concrete_function(is_late, data, *share)
        if layouts[0].attempts:
            return None
        packed = first(is_late, data, *share)
        share = tuple(packed.share)
        step = ReplicaStep(kind, *share)
        for slices, alike in zip(packed.slices, layouts[0].alike, strict=True):
            mark_alike(slices, alike=alike)
        sums = step.sum_over_replicas([*packed.buffers, *packed.slices])
        buffers, slices = sums[: len(packed.buffers)], sums[len(packed.buffers) :]
        logs, signals = second(buffers, slices, packed.before, *share)
        progress.note_step(step.fingerprint * step.num_replicas, signals)
        return logs

    return step_in_two_halves


def _is_undefined(value: Any) -> bool:
    return not isinstance(value, tf.IndexedSlices) and not value.shape.is_fully_defined()


def _compiled(function: Any) -> Any:
    converted = tf.autograph.experimental.do_not_convert(function)
    return tf.function(converted, jit_compile=True, reduce_retracing=True)


def _packed(
    step: ReplicaStep, plan: Plan, tensors: Carried, attempts: int, share: Sequence[Any]
) -> tuple[_Layout, _Packed]:
    addends = [*tensors.gradients, *tensors.rest]
    is_slices = [isinstance(value, tf.IndexedSlices) for value in addends]
    num_gradients = len(tensors.gradients)
    dense = [(i, value) for i, value in enumerate(addends) if not is_slices[i]]
    wires = [step.wire(value) if i < num_gradients else value.dtype for i, value in dense]
    bucket_bytes = step.context.strategy.extended.step_options.bucket_bytes
    buffers, pieces = pack([value for _, value in dense], wires, bucket_bytes)
    before, before_pieces = pack(tensors.before)
    slices = [value for value in addends if isinstance(value, tf.IndexedSlices)]
    alike = [looks_up_alike(value, step.growths) for value in slices]
    layout = _Layout(plan, is_slices, alike, pieces, before_pieces, attempts)
    return layout, _Packed(buffers, slices, before, [tf.convert_to_tensor(part) for part in share])
