"""Plain values as JSON and arrays, and back: numbers, texts, lists, dicts, arrays, states of random generators.

No pickle: what a checkpoint holds can be read without running anything.
"""

from __future__ import annotations

import collections
import math
import random
from collections.abc import Mapping
from typing import Any

import numpy as np

#: Key of a JSON object that stands for something that JSON has no form for.
_KIND = "$"
_DEEPEST = 64


class NotPlain(TypeError):
    """A value that is not made of plain ones."""


def encode(value: Any, arrays: dict[str, np.ndarray[Any, Any]], name: str, depth: int = 0) -> Any:
    """Returns what JSON can hold; arrays are added to `arrays` under names that begin with `name`.

    Raises:
        NotPlain: There is something else in it.
    """
    if depth > _DEEPEST:
        raise NotPlain("nested too deeply")
    if value is None or isinstance(value, (bool, str)) or type(value) is int:
        return value
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biufc" and value.dtype.isbuiltin != 2:  # 2: bfloat16 and its like
            raise NotPlain(f"an array of {value.dtype}")
        key = f"{name}#{len(arrays)}"
        arrays[key] = np.array(value)
        return {_KIND: "array", "name": key}
    if isinstance(value, np.generic):
        return {_KIND: "scalar", "value": encode(np.asarray(value), arrays, name, depth + 1)}
    if isinstance(value, float):
        return value if math.isfinite(value) else {_KIND: "float", "value": repr(float(value))}
    special = _encode_special(value, arrays, name, depth)
    if special is not None:
        return special
    raise NotPlain(type(value).__name__)


def _encode_special(value: Any, arrays: dict[str, np.ndarray[Any, Any]], name: str, depth: int) -> Any:
    def inner(part: Any) -> Any:
        return encode(part, arrays, name, depth + 1)

    if type(value) is list:
        return [inner(part) for part in value]
    if type(value) in (tuple, set, frozenset, collections.deque):
        parts = sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value
        more = {"maxlen": value.maxlen} if isinstance(value, collections.deque) else {}
        return {_KIND: type(value).__name__, "parts": [inner(part) for part in parts], **more}
    if type(value) in (dict, collections.OrderedDict, collections.Counter):
        return {_KIND: type(value).__name__, "items": [[inner(key), inner(part)] for key, part in value.items()]}
    if isinstance(value, bytes):
        return {_KIND: "bytes", "value": value.hex()}
    if isinstance(value, int):  # of a class of its own, as an enumeration
        raise NotPlain(type(value).__name__)
    if type(value) is random.Random:
        version, numbers, gauss = value.getstate()
        return {_KIND: "Random", "version": version, "numbers": inner(np.array(numbers, np.int64)), "gauss": gauss}
    if type(value) is np.random.Generator:
        return {_KIND: "Generator", "state": inner(dict(value.bit_generator.state))}
    if type(value) is np.random.RandomState:
        return {_KIND: "RandomState", "state": inner(dict(value.get_state(legacy=False)))}
    return None


def decode(value: Any, arrays: Mapping[str, np.ndarray[Any, Any]]) -> Any:
    """Returns the value that was encoded."""
    if isinstance(value, list):
        return [decode(part, arrays) for part in value]
    if not isinstance(value, dict):
        return value
    kind = value[_KIND]
    if kind == "array":
        return np.array(arrays[value["name"]])
    if kind == "scalar":
        return decode(value["value"], arrays)[()]
    if kind == "float":
        return float(value["value"])
    if kind == "bytes":
        return bytes.fromhex(value["value"])
    if kind in _SEQUENCES:
        return _SEQUENCES[kind](decode(value["parts"], arrays), value)
    if kind in _MAPPINGS:
        return _MAPPINGS[kind]([(decode(key, arrays), decode(part, arrays)) for key, part in value["items"]])
    return _decode_generator(kind, value, arrays)


_SEQUENCES: dict[str, Any] = {
    "tuple": lambda parts, _: tuple(parts),
    "set": lambda parts, _: set(parts),
    "frozenset": lambda parts, _: frozenset(parts),
    "deque": lambda parts, value: collections.deque(parts, value["maxlen"]),
}
_MAPPINGS: dict[str, Any] = {
    "dict": dict,
    "OrderedDict": collections.OrderedDict,
    "Counter": lambda items: collections.Counter(dict(items)),
}


def _decode_generator(kind: str, value: Mapping[str, Any], arrays: Mapping[str, np.ndarray[Any, Any]]) -> Any:
    # Made with a seed, as one without asks for entropy: a checkpoint must not move a script's own draws on.
    if kind == "Random":
        generator = random.Random()  # noqa: S311  no secret
        numbers = tuple(int(number) for number in decode(value["numbers"], arrays))
        generator.setstate((value["version"], numbers, value["gauss"]))
        return generator
    state = decode(value["state"], arrays)
    if kind == "RandomState":
        old = np.random.RandomState(np.random.MT19937(0))
        old.set_state(state)
        return old
    bits = getattr(np.random, state["bit_generator"])(0)
    bits.state = state
    return np.random.Generator(bits)


def replaced(current: Any, value: Any) -> Any:
    """Returns `value`, in the object that is there already where others may hold it."""
    if type(current) is type(value):
        if isinstance(value, list):
            current[:] = value
            return current
        if isinstance(value, (dict, set)):
            current.clear()
            current.update(value)
            return current
        if isinstance(value, random.Random):
            current.setstate(value.getstate())
            return current
        if isinstance(value, np.random.Generator) and type(current.bit_generator) is type(value.bit_generator):
            current.bit_generator.state = value.bit_generator.state
            return current
        if isinstance(value, np.random.RandomState):
            current.set_state(value.get_state())
            return current
    return value
