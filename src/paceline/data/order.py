"""Where the order of calls of a dataset's function matters: it draws random numbers, keeps a state, calls Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tensorflow.core.framework import types_pb2
from tensorflow.python.framework import op_def_registry

#: Operations that TensorFlow calls stateful and that do not care when they are called: checks, and tables.
_HARMLESS = re.compile(r"Assert|Print(V2)?|VarHandleOp|LookupTable(Find|Size|Export)(V2)?|.*HashTable(OfTensors)?(V2)?")
#: Datasets inside a function begin anew with each call; what their own functions do is looked at.
_BEGINS_ANEW = re.compile(r".*Dataset(V\d+)?|(Anonymous|Dummy)\w*(SeedGenerator|MemoryCache|Iterator)\w*(V\d+)?")
#: These call functions, which are looked at.
_CALLS = re.compile(r"(Stateful|Stateless)?(PartitionedCall|If|While|Case)|SymbolicGradient")
#: Of no effect where nothing writes.
_READS = re.compile(r"ReadVariableOp|ResourceGather(Nd)?|LookupTable(Find|Size|Export)(V2)?|VariableShape")


def ordered_nodes(graph: Any) -> dict[str, str]:
    """Returns the nodes of a function that must run in the order of the elements, each with the operation behind it.

    What is not known to be harmless counts. Not looked at: the state behind a Python function.

    Args:
        graph: The function's graph, as a `GraphDef`.
    """
    library = {function.signature.name: function for function in graph.library.function}
    known: dict[str, str] = {}
    reasons = {node.name: reason for node in graph.node if (reason := _reason(node, library, known))}
    if any(_takes_resource(reason) for reason in reasons.values()):
        # What is read depends on what an earlier call wrote.
        reasons |= {node.name: node.op for node in graph.node if _READS.fullmatch(node.op)}
    return reasons


def _reason(node: Any, library: dict[str, Any], known: dict[str, str]) -> str:
    """Returns the operation in or behind a node whose order matters, or nothing."""
    definition = op_def_registry.get(node.op)
    if definition is None and node.op not in library:
        return str(node.op)
    if definition is not None and definition.is_stateful and not _is_harmless(node.op):
        return str(node.op)
    names = [node.op] if node.op in library else [*_functions_of(node)]
    return next(filter(None, (_reason_in(name, library, known) for name in names)), "")


def _reason_in(name: str, library: dict[str, Any], known: dict[str, str]) -> str:
    if name not in known:
        known[name] = ""  # a function that calls itself
        nodes = library[name].node_def if name in library else []
        known[name] = next(filter(None, (_reason(node, library, known) for node in nodes)), "")
    return known[name]


def _functions_of(node: Any) -> Iterator[str]:
    for attribute in node.attr.values():
        if attribute.HasField("func"):
            yield attribute.func.name
        yield from (function.name for function in attribute.list.func)


def _is_harmless(operation: str) -> bool:
    return any(kind.fullmatch(operation) for kind in (_HARMLESS, _BEGINS_ANEW, _CALLS, _READS))


def _takes_resource(operation: str) -> bool:
    definition = op_def_registry.get(operation)
    return definition is None or any(argument.type == types_pb2.DT_RESOURCE for argument in definition.input_arg)
