"""Are all workers about to train, or have they trained, the same model?"""

from __future__ import annotations

import hashlib
import json
import weakref
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from paceline.collectives.transport import Transport
from paceline.errors import ScriptRefused
from paceline.training import decisions, guard


class Named(NamedTuple):
    """A variable and the name a person knows it by."""

    name: str
    variable: Any


def variables_of(model: Any) -> list[Named]:
    """Returns every variable that is meant to be equal on all workers: weights, optimizer, metrics, seeds."""
    return _named([("", model.variables), ("metrics/", model.metrics_variables), *_of_optimizers(model)])


def optimizer_scalars_of(model: Any) -> list[Named]:
    """Returns the scalars of a model's optimizers: learning rates, counters, scales of losses."""
    return [named for named in _named(_of_optimizers(model)) if not tuple(named.variable.shape)]


def _of_optimizers(model: Any) -> list[tuple[str, Any]]:
    return [
        ("optimizer/", value.variables)
        for value in vars(model).values()
        if hasattr(value, "learning_rate") and hasattr(value, "variables") and hasattr(value, "apply")
    ]


def _named(groups: list[tuple[str, Any]]) -> list[Named]:
    """Returns the variables of groups, each once, with the owner of its first group before its name."""
    found: dict[int, Named] = {}
    for owner, variables in groups:
        for variable in variables:
            if id(variable) not in found and getattr(variable, "_value", None) is not None:
                found[id(variable)] = Named(f"{owner}{getattr(variable, 'path', variable.name)}", variable)
    return list(found.values())


def is_built(model: Any) -> bool:
    """Returns whether the model has all its variables: then workers can be compared before the first step."""
    optimizer = getattr(model, "optimizer", None)  # a model that was not compiled can predict
    return bool(model.built) and (optimizer is None or bool(optimizer.built) or not model.trainable_variables)


def digest(variable: Any) -> str:
    """Returns a short hash of a variable's bits; of all its copies where they are not the same."""
    copies = getattr(variable.value, "values", None) or (variable.value,)
    hashes = [_hash(np.asarray(copy)) for copy in copies]
    return hashes[0] if len(set(hashes)) == 1 else "/".join(hashes)


def _hash(array: np.ndarray[Any, Any]) -> str:
    nan = array != array  # noqa: PLR0124  of every dtype, also of those that NumPy knows no NaN of
    if nan.any():  # the bits of a NaN depend on the order of adding, and mean nothing
        array = np.where(nan, np.asarray(np.nan, array.dtype), array)
    return hashlib.blake2b(np.ascontiguousarray(array).tobytes(), digest_size=8).hexdigest()


def unequal(named: list[Named], transport: Transport) -> list[Named]:
    """Returns the variables whose copies differ, in this process or between workers. Collective: yes.

    Raises:
        ScriptRefused: The workers have different variables.
    """
    digests = [digest(n.variable) for n in named]
    here = [i for i, text in enumerate(digests) if "/" in text]
    there = differing(digests, transport) if transport.size > 1 else []
    return [named[i] for i in sorted({*here, *there})]


def check_same_model(model: Any, transport: Transport) -> list[str]:
    """Makes sure that all workers start from one model; returns the names of variables that rank 0's values replaced.

    Every worker calls it. Collective: yes.

    Raises:
        ScriptRefused: The workers' models have different variables.
    """
    return check_same_variables(variables_of(model), transport)


_agreed: weakref.WeakSet[Any] = weakref.WeakSet()


def check_own_loop(optimizer: Any, variables: list[Any], transport: Transport | None) -> list[str]:
    """Does for the variables of an own loop, when its optimizer is first used, what `check_same_model` does for fit.

    Every worker calls it, also while a `tf.function` is traced: tracing is the same on all.
    Collective: yes, the first time.
    """
    if transport is None or transport.size == 1 or optimizer in _agreed:
        return []
    with tf.init_scope():
        if not all(bool(v.value.is_initialized()) for v in variables):
            return []  # made by this very trace: looked at in the next one
        _agreed.add(optimizer)
        named = [Named(str(getattr(v, "path", v.name)), v) for v in [*variables, *optimizer.variables]]
        return check_same_variables(named, transport)


def check_same_variables(mine: list[Named], transport: Transport) -> list[str]:
    """Makes sure that variables are the same everywhere; returns the names of those that rank 0's values replaced.

    Every worker calls it. Collective: yes.

    Raises:
        ScriptRefused: The workers have different variables.
    """
    shapes = [f"{n.name} {tuple(n.variable.shape)} {n.variable.dtype}" for n in mine]
    options = str(tf.distribute.get_strategy().extended.step_options)
    told = [json.loads(part) for part in transport.gather_bytes(json.dumps([options, shapes]).encode())]
    for rank, (theirs, _) in enumerate(told):
        if theirs != told[0][0]:
            raise _different_options(told[0][0], theirs, rank)
    everybody = [part[1] for part in told]
    for rank, theirs in enumerate(everybody):
        if len(theirs) != len(everybody[0]) or [_anonymous(s) for s in theirs] != [_anonymous(s) for s in everybody[0]]:
            raise _different_models(everybody[0], theirs, rank)
    different = differing([digest(n.variable) for n in mine], transport)
    for position in different:
        variable = mine[position].variable
        with tf.init_scope(), guard.not_training():
            variable.value.assign(transport.broadcast(tf.convert_to_tensor(variable.value)))
    return [mine[position].name for position in different]


def tell_replaced(owner: str, names: list[str]) -> None:
    """Says that the chief's values were taken for these variables. Collective: no."""
    if names:
        listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        decisions.tell(f"{owner}: the workers began with different values; the chief's are taken for {listed}")


def differing(digests: list[str], transport: Transport) -> list[int]:
    """Returns the positions of variables whose digests are not the same on all workers. Collective: yes.

    Raises:
        ScriptRefused: The workers have different numbers of variables.
    """
    everybody = [json.loads(part) for part in transport.gather_bytes(json.dumps(digests).encode())]
    counts = [len(theirs) for theirs in everybody]
    other = next((rank for rank, count in enumerate(counts) if count != counts[0]), 0)
    if other:
        raise ScriptRefused(
            "The workers' models have grown apart.",
            got=f"worker 0 has {counts[0]} variables, worker {other} has {counts[other]}",
            expected="the same layers with the same shapes on every worker",
            fix="let no callback add or remove layers by anything but epoch, step and logs",
        )
    return [i for i, group in enumerate(zip(*everybody, strict=True)) if len(set(group)) > 1]


def _anonymous(shape: str) -> str:
    """Returns the shape and dtype of a described variable: automatic names may differ, what they hold may not."""
    return shape[shape.index(" ") :] if " " in shape else shape


def _different_options(first: str, other: str, rank: int) -> ScriptRefused:
    return ScriptRefused(
        "The workers were given different step options, and could not add up what they send.",
        got=f"{first} on worker 0, {other} on worker {rank}",
        expected="the same paceline.StepOptions on every worker",
        fix="nothing that a script hands to paceline.strategy(...) may depend on the worker's index",
    )


def _different_models(first: list[str], other: list[str], rank: int) -> ScriptRefused:
    place = next(
        (i for i, (a, b) in enumerate(zip(first, other, strict=False)) if _anonymous(a) != _anonymous(b)), None
    )
    got = ""
    if len(first) != len(other):
        got = f"worker 0 has {len(first)} variables, worker {rank} has {len(other)}; "
    if place is not None:
        got += f"variable {place} is {first[place]} on worker 0, {other[place]} on worker {rank}"
    else:
        longer, who = (first, 0) if len(first) > len(other) else (other, rank)
        got += f"only worker {who} has {longer[min(len(first), len(other))]}"
    return ScriptRefused(
        "The workers built different models.",
        got=got,
        expected="the same layers with the same shapes on every worker",
        fix="build the model without random choices, or seed them; nothing about it may depend on the worker's index",
    )
