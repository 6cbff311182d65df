"""Tells of tensors that are as large as the largest number of a batch: `x[:, : tf.reduce_max(lengths)]`.

A replica knows only its own rows' largest, and the script does with it what it will: nothing can be exchanged for it,
as it is for what pads by itself (`padding.py`).
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from paceline.training import decisions
from paceline.training.growth import Form, Growths, reduces_rows
from paceline.training.step import Kind, ReplicaStep

#: Which inputs of an operation say how large its output is.
_SIZES = {
    "Range": (0, 1, 2),
    "Fill": (0,),
    "RaggedTensorToTensor": (0,),
    **dict.fromkeys(("Reshape", "BroadcastTo", "Tile", "OneHot", "Pad", "PadV2"), (1,)),
    **dict.fromkeys(("StridedSlice", "Slice"), (1, 2)),
}
#: What lies between the largest number and a size.
_BETWEEN = {
    *("Cast", "Pack", "ConcatV2", "AddV2", "Add", "Sub", "Mul", "FloorDiv", "Maximum", "Minimum", "Identity"),
    *("StridedSlice", "Squeeze", "Reshape", "ExpandDims"),
}


def tell_if_of_largest_row(step: ReplicaStep) -> None:
    """Tells where a size in a step is the largest or smallest number of a replica's rows. Collective: no.

    Looks at what leads to the tensors that were asked about in `step.growths`: losses, logs and outputs.
    """
    if step.kind is Kind.OWN_LOOP or step.num_replicas == 1 or not step.has_shared_out:
        return
    for tensor in step.growths.walked():
        operation = tensor.op
        for place in _SIZES.get(operation.type, ()):
            if _is_of_largest_row(operation.inputs[place], step.growths):
                decisions.tell(
                    "a size in a step is the largest number in a batch (tf.reduce_max of lengths), as far as the graph "
                    f"shows: each of the {step.num_replicas} replicas takes that of its own rows, and what does not "
                    "mask computes other numbers. RaggedTensor.to_tensor and tf.sequence_mask find the batch's"
                )
                return


def _is_of_largest_row(size: tf.Tensor, growths: Growths) -> bool:
    waiting: list[Any] = [size]
    seen = set[int]()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        operation = part.op
        if operation.type in {"Max", "Min"}:
            growth = growths.of(operation.inputs[0])
            if growth is not None and growth.form is Form.PER_ROW and reduces_rows(operation):
                return True
        elif operation.type in _BETWEEN and part.dtype.is_integer:
            waiting += operation.inputs
    return False
