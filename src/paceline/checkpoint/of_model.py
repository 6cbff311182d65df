"""The model of a checkpoint: made from what the checkpoint says of it, or by the script up to its `fit`.

Imports Keras: a process of its own does this, not the one that a person trains in.
"""

from __future__ import annotations

import inspect
import os
import runpy
import sys
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np

from paceline.errors import ConfigurationRefused

_WITH_SCRIPT = "paceline checkpoint convert ... --script train.py"
_WITHOUT_MODEL = "paceline checkpoint convert ... OUT.weights.npz   # needs no model"
_SHOWN = 4


class _Reached(BaseException):
    """The `fit` whose model is wanted. Not an Exception: a script that catches those does not catch it."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model


class _StopAtFirstBatch(keras.callbacks.Callback):
    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        raise _Reached(self.model)


def make(meta: Mapping[str, Any], script: Mapping[str, Any] | None) -> Any:
    """Returns the model of a checkpoint, its weights whatever they are.

    Args:
        meta: Of the checkpoint; `model` in it is a serialized model, `fit` the number of the fit, from 1.
        script: `path` and `argv` of the script that makes the model; it comes first.

    Raises:
        ConfigurationRefused: It cannot be made.
    """
    if script is not None:
        fit = meta.get("fit")
        return _of_script(script["path"], script["argv"], fit if isinstance(fit, int) else 1)
    if "model" not in meta:
        raise ConfigurationRefused(
            "The checkpoint does not say what its model is.",
            got='no "model" in its meta',
            expected="the script that makes the model",
            fix=f"{_WITH_SCRIPT}\nor: {_WITHOUT_MODEL}",
        )
    try:
        return keras.saving.deserialize_keras_object(meta["model"])
    except Exception as error:  # classes and layers of any kind raise anything
        raise ConfigurationRefused(
            "The model cannot be made from what the checkpoint says of it.",
            got=_first_line(error),
            fix=f"{_WITH_SCRIPT}\nor: {_WITHOUT_MODEL}",
        ) from error


def assign(model: Any, tensors: Mapping[str, np.ndarray]) -> None:
    """Sets all variables of a model.

    Raises:
        ConfigurationRefused: The model has other variables, or of other shapes.
    """
    variables = _by_path([*model.variables])
    difference = _difference(variables, tensors)
    if difference:
        raise ConfigurationRefused(
            "The model is not the one that the checkpoint is of.",
            got="\n".join(difference),
            expected="the script, with the arguments, that wrote it",
            fix=_WITHOUT_MODEL,
        )
    for path, array in tensors.items():
        variables[path].assign(array)


def assign_optimizer(model: Any, tensors: Mapping[str, np.ndarray]) -> bool:
    """Sets the state of a model's optimizer; returns False where the model has none or another one."""
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        return False
    if not optimizer.built:
        optimizer.build(model.trainable_variables)
    variables = _by_path(optimizer.variables)
    if _difference(variables, tensors):
        return False
    for path, array in tensors.items():
        variables[path].assign(array)
    return True


def _by_path(variables: list[Any]) -> dict[str, Any]:
    return {variable.path: variable for variable in variables}


def _difference(variables: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> list[str]:
    lines = [f"{path} is not in the model" for path in sorted(set(tensors) - set(variables))]
    lines += [f"{path} is not in the checkpoint" for path in sorted(set(variables) - set(tensors))]
    for path in sorted(set(variables) & set(tensors)):
        shape = tuple(variables[path].shape)
        if shape != tensors[path].shape:
            lines.append(f"{path} is {list(tensors[path].shape)} in the checkpoint, {list(shape)} in the model")
    more = len(lines) - _SHOWN
    return lines if more <= 0 else [*lines[:_SHOWN], f"and {more} more"]


def _of_script(path: str, argv: list[str], fit: int) -> Any:
    """Returns the model that a script gives to its `fit`-th fit; those before do nothing."""
    original = keras.Model.fit
    signature = inspect.signature(original)
    calls = 0

    def stand_in(self: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls < fit:
            return keras.callbacks.History()
        if self.built and getattr(self.optimizer, "built", True):
            raise _Reached(self)
        # One step makes what is made at the first batch; all of it is set afterwards.
        bound = signature.bind(self, *args, **kwargs)
        bound.arguments.update(callbacks=[_StopAtFirstBatch()], verbose=0, validation_data=None)
        return original(*bound.args, **bound.kwargs)

    keras.Model.fit = stand_in
    arguments, directories = sys.argv, list(sys.path)
    sys.argv = [path, *argv]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    try:
        runpy.run_path(path, run_name="__main__")
    except _Reached as reached:
        return reached.model
    except SystemExit as error:
        raise _not_reached(path, calls, fit, f"the script ended with {error.code}") from error
    except Exception as error:  # the script's own
        raise _not_reached(path, calls, fit, _first_line(error)) from error
    finally:
        keras.Model.fit = original
        sys.argv, sys.path[:] = arguments, directories
    raise _not_reached(path, calls, fit, "the script ended")


def _not_reached(path: str, calls: int, fit: int, why: str) -> ConfigurationRefused:
    return ConfigurationRefused(
        "The script does not come to the fit that the checkpoint is of.",
        got=f"{path}: {why}, after {calls} of {fit} fits",
        fix=_WITHOUT_MODEL,
    )


def _first_line(error: Exception) -> str:
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}"
