"""How a tensor of a step grows with the rows of the batch: whether a loss is a mean over rows, a sum, or neither.

A replica has some of the rows. What it computes becomes the global batch's by a weighted mean over replicas if it is a
mean over rows, and by a sum if it is a sum; the script's text does not say which, but the graph does. Found by
walking from the data to the tensor, with these forms for what lies between:

============ ======================================================= =======================================
form         what it is                                              becomes
============ ======================================================= =======================================
FIXED        the same on every replica; times a power of the number  Sum and Mean of LINEAR: LINEAR
             of rows (`tf.shape(x)[0]`: 1)
SHAPE        a shape that begins with the number of rows             its first element: FIXED, degree 1
PER_ROW      one row for each of the batch's, which depends on       Mean over rows: LINEAR, degree 0
             that row                                                Sum over rows: LINEAR, degree 1
LINEAR       a sum over rows times a power of their number           times FIXED: LINEAR, degrees added
OTHER        no such sum: a quotient, product or maximum of LINEAR   with PER_ROW: PER_ROW (a BatchNorm)
MIXED        rows compared with each other, as contrastive losses    always MIXED
             do
============ ======================================================= =======================================

What is not known to mix rows is taken to keep them apart: that is so for layers.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.python.framework import op_def_registry


class Form(enum.Enum):
    """See the module's table."""

    FIXED = "fixed"
    SHAPE = "shape"
    PER_ROW = "per row"
    LINEAR = "linear"
    OTHER = "other"
    MIXED = "mixed"


class Growth(NamedTuple):
    """How a tensor grows.

    Attributes:
        form: See the module's table.
        degree: The power of the number of rows, for FIXED and LINEAR.
    """

    form: Form
    degree: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether it is of a whole batch: what replicas have of it does not make what one device has."""
        if self.form is Form.LINEAR:
            return self.degree not in {0, 1}
        return self.form in {Form.OTHER, Form.MIXED}


FIXED, COUNT = Growth(Form.FIXED), Growth(Form.FIXED, 1)
MEAN, SUM = Growth(Form.LINEAR), Growth(Form.LINEAR, 1)
_SHAPE, _PER_ROW, _OTHER, _MIXED = (Growth(form) for form in (Form.SHAPE, Form.PER_ROW, Form.OTHER, Form.MIXED))

_READS = {"Const", "ReadVariableOp", "VarHandleOp"}
#: The same on all replicas only if they are drawn alike, which they are not.
_DRAWS = re.compile(r".*(Random|Multinomial|Uniform|Normal).*")
_SAME = {
    *("Identity", "Neg", "StopGradient", "PreventGradient", "CheckNumerics", "Snapshot", "Cast", "Reshape"),
    *("Squeeze", "ExpandDims", "Transpose", "IdentityN", "Sum", "Mean", "BroadcastTo", "StridedSlice", "Unpack"),
}
_ADDS = {"Add", "AddV2", "Sub", "AddN", "Pack", "ConcatV2", "Select", "SelectV2", "Maximum", "Minimum"}
_MULTIPLIES = {"Mul", "MulNoNan"}
_DIVIDES = {"RealDiv", "DivNoNan", "Div"}
_REDUCES = {"Sum", "Mean", "Max", "Min", "Prod", "All", "Any", "EuclideanNorm", "ArgMax", "ArgMin"}
_SHAPES = {"Shape", "ShapeN"}
_OF_SHAPES = {"StridedSlice", "Slice", "GatherV2", "Prod", "Cast", "Identity"}
_SORTS = {"TopK", "TopKV2"}
#: Ask for which of LINEAR is larger: no sum over rows any more.
_CHOOSES = {"Maximum", "Minimum"}
_BY_ELEMENT = {
    *_ADDS - {"Pack", "ConcatV2"} | _MULTIPLIES | _DIVIDES,
    *("SquaredDifference", "Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"),
    *("LogicalAnd", "LogicalOr", "FloorDiv", "FloorMod", "Pow", "Xdivy", "Xlogy", "Atan2"),
}
_CALLS = {"If", "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile"}
_CALLS |= {"PartitionedCall", "StatefulPartitionedCall"}
_OF_VARIABLES = {"ReadVariableOp", "AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp", "ResourceGather"}
_MULTIPLIES_MATRICES = {"MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Einsum"}


class Growths:
    """What is known of one step's tensors.

    Args:
        data: The tensors of this replica's share of the batch.
    """

    def __init__(self, data: Iterable[Any] = ()) -> None:
        self._known: dict[int, tuple[Any, Growth]] = {}
        for part in data:
            self._note_data(part)

    def _note_data(self, part: Any) -> None:
        if isinstance(part, tf.SparseTensor):
            self.note(part.dense_shape, _SHAPE)
            self.note(part.indices, _PER_ROW)
            self.note(part.values, _PER_ROW)
        elif isinstance(part, tf.RaggedTensor):
            for component in tf.nest.flatten(part, expand_composites=True):
                self.note(component, _PER_ROW)
        elif isinstance(part, tf.Tensor):
            self.note(part, FIXED if part.shape.rank == 0 else _PER_ROW)

    def note(self, tensor: Any, growth: Growth) -> None:
        """Says how a tensor grows where its graph does not: what replicas have summed, what a hook has weighted."""
        self._known[id(tensor)] = tensor, growth

    def walked(self) -> list[Any]:
        """Returns the tensors of graphs that were looked at so far."""
        return [tensor for tensor, _ in self._known.values() if isinstance(tensor, tf.Tensor) and _is_in_graph(tensor)]

    def of(self, tensor: Any) -> Growth | None:
        """Returns how a tensor grows; None outside of graphs, where nobody knows but what was noted. Collective: no."""
        if id(tensor) in self._known:
            return self._known[id(tensor)][1]
        if not isinstance(tensor, tf.Tensor) or not _is_in_graph(tensor):
            return None
        waiting, entered = [tensor], set()
        while waiting:
            top = waiting[-1]
            before = _inputs(top)
            missing = [part for part in before if id(part) not in self._known]
            if id(top) in self._known:
                waiting.pop()
            elif missing and id(top) not in entered:
                entered.add(id(top))
                waiting += missing
            else:
                # A loop of TensorFlow 1 leads back to what is being asked: taken for what keeps rows apart.
                states = [self._known[id(part)][1] if id(part) in self._known else _PER_ROW for part in before]
                self.note(top, _grown(top, states))
                waiting.pop()
        return self._known[id(tensor)][1]


def _is_in_graph(tensor: Any) -> bool:
    return hasattr(tensor, "graph")  # of an eager tensor that raises AttributeError


def _inputs(tensor: Any) -> list[Any]:
    """Returns the tensors that decide how this one grows."""
    if not _is_in_graph(tensor):
        return []
    operation = tensor.op
    if operation.type == "Placeholder":
        return [outside for outside, inside in getattr(tensor.graph, "captures", ()) if inside is tensor]
    if operation.type in _READS:
        return []
    return [part for part in operation.inputs if part.dtype != tf.resource]


def _grown(tensor: Any, states: list[Growth]) -> Growth:
    """Returns how the output of an operation grows, from how its inputs do."""
    if not _is_in_graph(tensor):
        return FIXED  # a table of the script's: its graph holds no more than that it comes from outside
    operation = tensor.op
    name, forms = operation.type, {state.form for state in states}
    if name in _READS or tensor.dtype == tf.resource:
        return FIXED
    if name == "Placeholder":
        return states[0] if states else _of_unknown(tensor)
    if name in _CALLS and all(state == FIXED for state in states) and _is_fixed_call(operation):
        return FIXED
    if _DRAWS.fullmatch(name) or (operation.op_def.is_stateful and name != "ResourceGather"):
        return _of_unknown(tensor)
    if Form.MIXED in forms:
        return _MIXED
    if name in _SHAPES:
        return FIXED if states[0].form is Form.FIXED else _SHAPE
    if name == "Size":
        return FIXED if states[0].form is Form.FIXED else COUNT
    if Form.SHAPE in forms:
        return _of_shape(operation, states)
    if Form.PER_ROW in forms:
        return _of_rows(tensor, states)
    return _OTHER if Form.OTHER in forms else _of_sums(tensor, states)


def _is_fixed_call(operation: Any) -> bool:
    """Returns whether the functions that an operation calls make the same of the same inputs: they draw nothing."""
    waiting, seen = [operation.node_def], set[str]()
    while waiting:
        for name in _called(waiting.pop()) - seen:
            seen.add(name)
            function = operation.graph._get_function(name)
            if function is None:
                return False
            nodes = function.cached_definition.node_def
            if not all(_is_fixed_operation(node.op) for node in nodes):
                return False
            waiting += nodes
    return True


def _called(node: Any) -> set[str]:
    single = {value.func.name for value in node.attr.values() if value.HasField("func")}
    return single.union(*({func.name for func in value.list.func} for value in node.attr.values()))


def _is_fixed_operation(name: str) -> bool:
    if name in _CALLS or name in _OF_VARIABLES:
        return True
    known = op_def_registry.get(name)
    return known is not None and not known.is_stateful and not _DRAWS.fullmatch(name)


def _of_unknown(tensor: Any) -> Growth:
    return _OTHER if _is_number(tensor) else _PER_ROW


def _is_number(tensor: Any) -> bool:
    return bool(tensor.shape.rank == 0 and tensor.dtype != tf.variant)  # a list of tensors is a scalar of that kind


def _of_shape(operation: Any, states: list[Growth]) -> Growth:
    name = operation.type
    if name in {"ConcatV2", "Pack"} and operation.outputs[0].dtype.is_integer:
        return _SHAPE
    if states[0].form is not Form.SHAPE or name not in _OF_SHAPES:
        return _PER_ROW  # something of this shape
    if name == "Prod":
        return COUNT
    if name in {"Cast", "Identity"}:
        return _SHAPE
    begin = tf.get_static_value(operation.inputs[1])
    if begin is None:
        return _OTHER
    begin, length = int(begin.reshape(-1)[0]), operation.inputs[0].shape.num_elements()
    if name == "StridedSlice" and operation.get_attr("begin_mask") & 1:
        begin = 0
    if begin < 0 and length is None:
        return FIXED  # counted from the end: not the rows, which come first
    first = begin in {0, -(length or 0)}
    is_number = operation.outputs[0].shape.rank == 0
    return FIXED if not first else COUNT if is_number else _SHAPE


def _of_rows(tensor: Any, states: list[Growth]) -> Growth:
    operation = tensor.op
    name = operation.type
    if name == "L2Loss":
        return SUM
    if name in _REDUCES and states[0].form is Form.PER_ROW:
        if not reduces_rows(operation):
            return _PER_ROW
        return {"Sum": SUM, "Mean": MEAN}.get(name, _OTHER)
    if name in _MULTIPLIES_MATRICES:
        return _of_matrices(operation, states)
    if name in _SORTS and operation.inputs[0].shape.rank == 1:
        return _MIXED
    if name in _BY_ELEMENT and _is_table(tensor, states):
        return _MIXED
    return _OTHER if _is_number(tensor) else _PER_ROW


def _is_table(tensor: Any, states: list[Growth]) -> bool:
    """Returns whether a column of rows meets a line of them: `[rows, 1]` with `[rows]` or `[1, rows]`."""
    shapes = [p.shape for p, state in zip(_inputs(tensor), states, strict=True) if state.form is Form.PER_ROW]
    known = [shape.as_list() for shape in shapes if shape.rank in {1, 2}]
    return tensor.shape.rank == 2 and [None, 1] in known and ([None] in known or [1, None] in known)


def reduces_rows(operation: Any) -> bool:
    """Returns whether a reduction's axes hold the first one, that of the rows."""
    if operation.outputs[0].shape.rank == 0:
        return True
    axes, rank = tf.get_static_value(operation.inputs[1]), operation.inputs[0].shape.rank
    if axes is None:
        return False
    return any(axis in (0, -(rank or 0)) for axis in axes.reshape(-1).tolist())


def _of_matrices(operation: Any, states: list[Growth]) -> Growth:
    left, right = (state.form is Form.PER_ROW for state in states[:2])
    if operation.type == "MatMul":
        if left and operation.get_attr("transpose_a"):
            return SUM if right and not operation.get_attr("transpose_b") else _MIXED
        return _MIXED if right and (left or not operation.get_attr("transpose_b")) else _PER_ROW
    if operation.type == "Einsum" and left and right:
        taken, given = operation.get_attr("equation").decode().split("->")
        first, second = (part[:1] for part in taken.split(","))
        return _MIXED if first != second and {first, second} <= set(given) else _PER_ROW
    return _PER_ROW


def _of_sums(tensor: Any, states: list[Growth]) -> Growth:
    name = tensor.op.type
    linear = sum(state.form is Form.LINEAR for state in states)
    degrees = [state.degree for state in states]
    if not linear and not any(degrees):
        return FIXED
    form = Form.LINEAR if linear else Form.FIXED
    if name in {"Fill", "Range", "Tile", "BroadcastTo"} and not linear:
        return _PER_ROW
    if name in {"Pack", "ConcatV2"} and tensor.dtype.is_integer and not linear:
        return _SHAPE
    if name in _CHOOSES and linear:
        return _OTHER
    if name in _SAME:
        return Growth(form, degrees[0]) if states[0].form is form else _OTHER
    if name in _ADDS:
        parts = states[1:] if name.startswith("Select") else states[:-1] if name == "ConcatV2" else states
        if len({state.degree for state in parts}) == 1 and (
            len(parts) == len(states) or states[0] == FIXED or not linear
        ):
            return Growth(form, parts[0].degree)
        return _OTHER
    if name in _MULTIPLIES and linear < 2:
        return Growth(form, sum(degrees))
    if name in _DIVIDES and states[1].form is Form.FIXED:
        return Growth(form, degrees[0] - degrees[1])
    return _OTHER
