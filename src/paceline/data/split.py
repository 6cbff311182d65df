"""Cuts the function of a parallel map in two: what must run in the order of the elements, and the rest."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.core.framework import graph_pb2


class Halves(NamedTuple):
    """Two functions that do one after the other what one did.

    Attributes:
        first: Takes what the function took, and returns what the second one needs.
        second: Takes what the first one returned, and what the function captured.
    """

    first: Any
    second: Any


def split(function: Any, graph: Any, ordered: Collection[str]) -> Halves | None:
    """Returns the halves of a function, or None where there is nothing to gain or it cannot be cut.

    Args:
        function: A concrete function; the last of its inputs are what it captured.
        graph: Its graph, as a `GraphDef`.
        ordered: The nodes that belong into the first half; what they need goes with them.
    """
    nodes = {node.name: node for node in graph.node}
    inputs = [tensor.name for tensor in function.graph.inputs]
    names = {_node_of(name) for name in inputs}
    outputs = [tensor.name for tensor in function.graph.outputs]
    ends = [operation.name for operation in function.graph.control_outputs]
    first = _needed(nodes, ordered, stop=names)
    second = _needed(nodes, [*map(_node_of, outputs), *ends], stop=names | first) - first
    # Small numbers are in both.
    second |= {name for name in first if nodes[name].op == "Const"} if second else set()
    if all(nodes[name].op in ("Const", "Identity", "NoOp") for name in second):
        return None
    taken = [_tensor(text) for name in sorted(second) for text in nodes[name].input if not text.startswith("^")]
    needed = dict.fromkeys(name for name in [*taken, *outputs] if _node_of(name) not in second)
    elements = inputs[: len(inputs) - len(function.captured_inputs)]
    captured = inputs[len(elements) :]
    between = [name for name in needed if name not in captured]
    tensors = [function.graph.get_tensor_by_name(name) for name in between]
    if not between or any(tensor.dtype == tf.resource for tensor in tensors):
        return None
    return Halves(
        _function(function, graph, inputs, first, between),
        _function(function, graph, [*between, *captured], second, outputs),
    )


def _function(function: Any, graph: Any, inputs: list[str], keep: set[str], outputs: list[str]) -> Any:
    """Returns the part of a function that gets from the tensors `inputs` to the tensors `outputs`."""
    part = graph_pb2.GraphDef(versions=graph.versions, library=graph.library)
    for node in graph.node:
        if node.name in keep:
            copy = part.node.add()
            copy.CopyFrom(node)
            copy.attr.pop("_class", None)  # beside which other node it is
            kept = [text for text in node.input if not text.startswith("^") or _node_of(text) in keep]
            copy.input[:] = kept
    used = {_tensor(text) for node in part.node for text in node.input if not text.startswith("^")}

    def run(*tensors: Any) -> list[Any]:
        given = dict(zip(inputs, tensors, strict=True))
        inner = [name for name in outputs if name not in given]
        mapped = {name: tensor for name, tensor in given.items() if name in used}
        made = tf.graph_util.import_graph_def(part, input_map=mapped, return_elements=inner, name="part")
        found = {**given, **dict(zip(inner, made or [], strict=True))}
        return [tf.identity(found[name]) for name in outputs]

    specs = [_spec(function.graph.get_tensor_by_name(name)) for name in inputs]
    wrapped = tf.function(run, input_signature=specs, autograph=False, experimental_attributes=_MARK)
    return wrapped.get_concrete_function()


#: What `tf.data` gives its own functions. Source: tensorflow/python/data/ops/structured_function.py, 2.19 to 2.21.
_MARK = {"_tf_data_function": True}


def _spec(tensor: Any) -> Any:
    return tf.TensorSpec(tensor.shape, tensor.dtype)


def _needed(nodes: dict[str, Any], names: Iterable[str], *, stop: set[str]) -> set[str]:
    """Returns the nodes behind the named ones and themselves, without those at which to stop."""
    found: set[str] = set()
    waiting = [name for name in names if name not in stop]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [before for text in nodes[name].input if (before := _node_of(text)) not in stop]
    return found


def _node_of(text: str) -> str:
    return text.removeprefix("^").split(":")[0]


def _tensor(text: str) -> str:
    return text if ":" in text else f"{text}:0"
