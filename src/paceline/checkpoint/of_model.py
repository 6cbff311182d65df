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


def assign(model: Any, tensors: Mapping[str, np.ndarray]) -> dict[str, str]:
    """Sets all variables of a model; returns path in the checkpoint -> path in the model.

    Both differ where the model was made from its configuration: Keras then leaves out the names of the models around a
    layer (Keras 3.10 to 3.15). So the shorter path has to be the end of one longer path, and of one only.

    Raises:
        ConfigurationRefused: The model has other variables, or of other shapes.
    """
    variables = _by_path(model.variables)
    paths = match(list(tensors), list(variables))
    renamed = {paths.get(path, path): array for path, array in tensors.items()}
    difference = _difference(variables, renamed)
    if difference:
        raise ConfigurationRefused(
            "The model is not the one that the checkpoint is of.",
            got="\n".join(difference),
            expected="the script, with the arguments, that wrote it",
            fix=_WITHOUT_MODEL,
        )
    for path, array in renamed.items():
        variables[path].assign(array)
    return paths


def assign_optimizer(model: Any, tensors: Mapping[str, np.ndarray], paths: Mapping[str, str]) -> bool:
    """Sets the state of a model's optimizer; returns False where the model has none or another one.

    Args:
        model: Its variables are there.
        tensors: The optimizer's, by their paths: Keras makes these from the path of the variable that they belong to.
        paths: What `assign` returned.
    """
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        return False
    if not optimizer.built:
        optimizer.build(model.trainable_variables)
    variables = _by_path(optimizer.variables)
    renamed = {_of_slot(name, paths): array for name, array in tensors.items()}
    if len(renamed) != len(tensors) or _difference(variables, renamed):
        return False
    for path, array in renamed.items():
        variables[path].assign(array)
    return True


def match(stored: list[str], made: list[str]) -> dict[str, str]:
    """Returns stored path -> the path that is meant, of those where one and only one is.

    >>> match(["seq/d/kernel", "seq/e/kernel", "x/y"], ["d/kernel", "e/kernel", "y/x"])
    {'seq/d/kernel': 'd/kernel', 'seq/e/kernel': 'e/kernel'}
    >>> match(["a/d/kernel", "b/d/kernel"], ["d/kernel", "c/d/kernel"])
    {}
    """
    same = set(stored) & set(made)
    paths = {path: path for path in stored if path in same}
    others = [path for path in made if path not in same]
    for path in stored:
        if path not in same:
            ends = [other for other in others if _is_end(path, other)]
            back = [other for other in stored if ends and other not in same and _is_end(other, ends[0])]
            if len(ends) == len(back) == 1:
                paths[path] = ends[0]
    return paths


def _by_path(variables: list[Any]) -> dict[str, Any]:
    """Returns variables by their paths; the second one of a path has `#2` at its end, as in a checkpoint."""
    found: dict[str, Any] = {}
    for variable in variables:
        path, number = variable.path, 1
        while path in found:
            number += 1
            path = f"{variable.path}#{number}"
        found[path] = variable
    return found


def _is_end(one: str, other: str) -> bool:
    return one.endswith(f"/{other}") or other.endswith(f"/{one}")


def _of_slot(name: str, paths: Mapping[str, str]) -> str:
    """Returns the name of an optimizer's variable, where it is made of a variable's path, made of the other path."""
    optimizer, _, rest = name.partition("/")
    for path in sorted(paths, key=len, reverse=True):
        beginning = f"{path.replace('/', '_')}_"
        if rest.startswith(beginning):
            return f"{optimizer}/{paths[path].replace('/', '_')}_{rest.removeprefix(beginning)}"
    return name


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
