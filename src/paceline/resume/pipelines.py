"""What a fit's data are made of, and what its Python parts remember."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter
from keras.src.trainers.data_adapters.generator_data_adapter import GeneratorDataAdapter
from keras.src.trainers.data_adapters.py_dataset_adapter import PyDatasetAdapter

from paceline.resume.plain import NotPlain, decode, encode, replaced

#: Attributes of a PyDataset that are larger are its data, not what it remembers.
_MOST_BYTES = 16 << 20
_MOVING = ("Random", "Stateful", "Multinomial", "StatelessRandomGetAlg")


def kind_of(adapter: Any) -> str:
    """Returns in a word what was given to fit."""
    if isinstance(adapter, ArrayDataAdapter):
        return "arrays"
    if isinstance(adapter, PyDatasetAdapter):
        return "PyDataset"
    return "generator" if isinstance(adapter, GeneratorDataAdapter) else "tf.data"


def calls_python(dataset: Any) -> bool:
    """Returns whether a dataset calls Python anywhere: what that remembers between calls is not known."""
    return any("PyFunc" in node.op for graph in _graphs(dataset) for node in graph.node)


def _graphs(dataset: Any) -> Iterator[Any]:
    """Yields the graphs of a dataset's functions, and of the functions in these."""
    seen: set[int] = set()
    waiting = [getattr(dataset, "_dataset", dataset)]
    while waiting:
        part = waiting.pop()
        if id(part) in seen or not hasattr(part, "_inputs"):
            continue
        seen.add(id(part))
        waiting += part._inputs()
        for function in part._functions():
            graph = getattr(function.function, "graph", None)
            if graph is not None:
                definition = graph.as_graph_def()
                yield definition
                for inner in definition.library.function:
                    yield _Body(inner.node_def)


class _Body:
    def __init__(self, node: Any) -> None:
        self.node = node


class Memory:
    """What a PyDataset remembers between batches and epochs: its plain attributes that have changed.

    Args:
        adapter: Keras' adapter of what was given to fit.
    """

    def __init__(self, adapter: Any) -> None:
        self._owner = getattr(adapter, "py_dataset", None)
        self._at_first = {name: mark for name, (_, _, mark) in self._plain().items()}

    def capture(self) -> dict[str, Any]:
        """Returns the attributes that are not what they were at first."""
        changed = {}
        for name, (value, arrays, mark) in self._plain().items():
            if self._at_first.get(name) != mark:
                changed[name] = decode(value, arrays)
        return changed

    def restore(self, attributes: dict[str, Any]) -> None:
        """Sets what `capture` returned."""
        for name, value in attributes.items():
            setattr(self._owner, name, replaced(getattr(self._owner, name, None), value))

    def _plain(self) -> dict[str, tuple[Any, dict[str, np.ndarray[Any, Any]], str]]:
        found = {}
        for name, value in vars(self._owner).items() if self._owner is not None else ():
            if getattr(value, "nbytes", 0) > _MOST_BYTES:
                continue
            arrays: dict[str, np.ndarray[Any, Any]] = {}
            try:
                encoded = encode(value, arrays, name)
            except NotPlain:
                continue
            found[name] = (encoded, arrays, _mark(encoded, arrays))
        return found


def mark_of(attributes: dict[str, Any]) -> str:
    """Returns a text that is the same where plain attributes are."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    return _mark(encode(attributes, arrays, ""), arrays)


def _mark(encoded: Any, arrays: dict[str, np.ndarray[Any, Any]]) -> str:
    mark = hashlib.blake2b(repr(encoded).encode())
    for array in arrays.values():
        mark.update(array.tobytes())
    return mark.hexdigest()
