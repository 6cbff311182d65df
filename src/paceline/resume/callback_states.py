"""What callbacks remember: their plain attributes, by place in the list and by class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import numpy as np
from keras import tree

from paceline.resume.plain import NotPlain, decode, encode, replaced

#: What Keras sets, or what shows where training is.
_NOT_STATE = frozenset({"params", "_params", "model", "_model", "validation_data"})
#: What is a worker's own (`callbacks.one_writer`), or follows from the file that is gone on with.
_OF_A_WORKER = {
    keras.callbacks.CSVLogger: {"filename", "append", "append_header"},
    keras.callbacks.TensorBoard: {"log_dir", "profile_batch"},
}


def listed(callbacks: Any) -> list[Any]:
    """Returns the callbacks of what a script gives to `fit`, in order."""
    if callbacks is None:
        return []
    return list(getattr(callbacks, "callbacks", None) or tree.flatten(callbacks))


def capture(callbacks: Sequence[Any], arrays: dict[str, np.ndarray[Any, Any]]) -> list[dict[str, Any]]:
    """Returns the plain attributes of callbacks as JSON; arrays are added to `arrays`. Collective: no."""
    found = []
    for place, callback in enumerate(callbacks):
        state: dict[str, Any] = {}
        for name, value in _attributes(callback).items():
            mine: dict[str, np.ndarray[Any, Any]] = {}
            try:
                state[name] = encode(value, mine, f"callbacks/{place}/{name}")
            except NotPlain:
                continue
            arrays |= mine
        found.append({"class": type(callback).__name__, "state": state})
    return found


def restore(
    callbacks: Sequence[Any],
    states: Sequence[Mapping[str, Any]],
    arrays: Mapping[str, np.ndarray[Any, Any]],
    tell: Callable[[str], None],
) -> None:
    """Sets the attributes that `capture` returned; says which callbacks are others now. Collective: no."""
    if len(callbacks) != len(states):
        tell(
            f"callbacks: {len(states)} in the checkpoint, {len(callbacks)} now; those at the same places are continued"
        )
    for place, (callback, saved) in enumerate(zip(callbacks, states, strict=False)):
        if type(callback).__name__ != saved["class"]:
            tell(f"callback {place} is {type(callback).__name__}, in the checkpoint {saved['class']}: it begins anew")
            continue
        excluded = _not_given_back(callback)
        for name, value in saved["state"].items():
            if name not in excluded:
                setattr(callback, name, replaced(getattr(callback, name, None), decode(value, arrays)))


def _attributes(callback: Any) -> dict[str, Any]:
    if isinstance(callback, keras.callbacks.ProgbarLogger):
        return {}
    excluded = _NOT_STATE | _not_given_back(callback)
    return {name: value for name, value in vars(callback).items() if name not in excluded}


def _not_given_back(callback: Any) -> set[str]:
    # Keras turns its sign when it first learns what is better, and will do so again (Keras 3.10 to 3.15).
    turned = {"min_delta"} if hasattr(callback, "_set_monitor_op") else set()
    return turned | {name for owner, names in _OF_A_WORKER.items() if isinstance(callback, owner) for name in names}
