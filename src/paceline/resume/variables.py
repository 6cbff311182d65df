"""All variables of a training as named arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from paceline.checkpoint_dir.formats import MODEL_PREFIX, OPTIMIZER_PREFIX
from paceline.errors import ConfigurationRefused
from paceline.training import agreement, guard

_SHOWN = 4


def named_variables(model: Any) -> dict[str, Any]:
    """Returns every variable of a model, its optimizers, metrics and seed generators by a name of its own."""
    found: dict[str, Any] = {}
    model_ids = {id(variable) for variable in model.variables}
    for name, variable in agreement.variables_of(model):
        if id(variable) in model_ids:
            key = f"{MODEL_PREFIX}{name}"
        else:
            key = name if name.startswith((OPTIMIZER_PREFIX, "metrics/")) else f"more/{name}"
        unique, number = key, 1
        while unique in found:
            number += 1
            unique = f"{key}#{number}"
        found[unique] = variable
    return found


def read(model: Any) -> dict[str, np.ndarray[Any, Any]]:
    """Returns the values of all variables, on the host; not to be kept: the next step may change them.

    Replicas are alike, so that one copy stands for all. Collective: no.
    """
    return {name: _read(variable) for name, variable in named_variables(model).items()}


def assign(model: Any, tensors: Mapping[str, np.ndarray[Any, Any]], where: str) -> None:
    """Sets all variables of a model, in every replica of this process. Collective: no.

    Args:
        model: The model, built.
        tensors: What `read` returned; those with other prefixes are not looked at.
        where: The checkpoint, for the error.

    Raises:
        ConfigurationRefused: The model has other variables.
    """
    variables = named_variables(model)
    prefixes = (MODEL_PREFIX, OPTIMIZER_PREFIX, "metrics/", "more/")
    wanted = {name: array for name, array in tensors.items() if name.startswith(prefixes)}
    difference = _difference(variables, wanted)
    if difference:
        raise ConfigurationRefused(
            f"{model.name} is not the model that the checkpoint is of.",
            got="\n".join(difference),
            expected=f"the model that {where} was written of: the same script, arguments and versions",
            fix="paceline run --resume never ...   or another --checkpoint-dir",
        )
    with tf.init_scope(), guard.not_training():
        for name, array in wanted.items():
            value = variables[name].value
            for copy in getattr(value, "values", None) or (value,):
                copy.assign(array)


def _read(variable: Any) -> np.ndarray[Any, Any]:
    value = variable.value
    copies = getattr(value, "values", None)
    tensor = tf.convert_to_tensor(copies[0] if copies else value)
    return tensor._numpy() if hasattr(tensor, "_numpy") else np.asarray(tensor)


def _difference(variables: Mapping[str, Any], tensors: Mapping[str, np.ndarray[Any, Any]]) -> list[str]:
    lines = [f"{name} is in the checkpoint, not in the model" for name in sorted(set(tensors) - set(variables))]
    lines += [f"{name} is in the model, not in the checkpoint" for name in sorted(set(variables) - set(tensors))]
    for name in sorted(set(variables) & set(tensors)):
        here, there = tuple(variables[name].shape), tensors[name].shape
        if here != there:
            lines.append(f"{name} is {list(there)} in the checkpoint, {list(here)} in the model")
    return lines if len(lines) <= _SHOWN else [*lines[:_SHOWN], f"and {len(lines) - _SHOWN} more"]
