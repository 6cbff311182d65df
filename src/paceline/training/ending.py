"""The end of a step: one sum over all replicas, and what is done with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import tensorflow as tf

from paceline.training import current, progress
from paceline.training.aggregation import adds_up
from paceline.training.losses import tell_if_whole
from paceline.training.sizes import tell_if_of_largest_row
from paceline.training.step import ReplicaStep


class Carried(NamedTuple):
    """The tensors of a step between its two halves.

    Attributes:
        gradients: This replica's addends: gradients of updates that were put off.
        rest: Its other addends: changes of states, logs, signals.
        before: The states' values from before the step.
        kept: Logs that cannot be added (text, ragged tensors): each worker keeps its own.
    """

    gradients: list[Any]
    rest: list[Any]
    before: list[Any]
    kept: list[Any]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is done with the sums of a step.

    Attributes:
        updates: For each update that was put off: optimizer, which gradients there are, variables.
        states: The variables whose changes are summed.
        assigned: All variables that the step assigned to.
        log_names: The structure of the logs.
        log_dtypes: Their dtypes, None for a log that is kept or is None.
        log_readers: For a log that is a metric's result the metric, and the result's key if it has several; else None.
    """

    updates: list[tuple[Any, list[bool], list[Any]]]
    states: list[Any]
    assigned: list[Any]
    log_names: Any
    log_dtypes: list[Any]
    log_readers: list[tuple[Any, str | None] | None]


def finish(step: ReplicaStep, logs: Any = None, metrics: Iterable[Any] = ()) -> Any:
    """Brings all replicas to the same state and returns the logs of the global batch. Collective: yes.

    Args:
        step: What this replica has noted.
        logs: What the step returned: a structure of tensors.
        metrics: The model's metrics. A log that is a metric's result, or has a metric's name where a function
            of the script's own stands in between, is read from the state of all replicas.

    Returns:
        `logs`, the same on every replica.
    """
    plan, tensors = collect(step, logs)
    sums = step.sum_over_replicas([*tensors.gradients, *tensors.rest], len(tensors.gradients))
    logs, signals = settle(step, plan, sums, tensors.before, metrics, tensors.kept)
    progress.note_step(step.fingerprint * step.num_replicas, signals)
    return logs


def collect(step: ReplicaStep, logs: Any = None) -> tuple[Plan, Carried]:
    """Returns what this replica sends, and the plan of what is done with the sums. Collective: no.

    The tensors may leave a compiled function; the plan holds no tensors.
    """
    step.drop_stand_in()
    shared = [(variable, old) for variable, old in step.before.values() if _is_shared(variable)]
    given = tf.nest.flatten(logs)
    flat_logs = [tf.convert_to_tensor(value) if _is_number(value) else None for value in given]
    gradients = [step.weighted(g) for put_off in step.put_off for g in put_off.gradients if g is not None]
    readers = [_reader(step, value) for value in given]
    rest = [_state_part(step, variable, old) for variable, old in shared]
    rest += [_log_part(step, v) for v, reader in zip(flat_logs, readers, strict=True) if not (v is None or reader)]
    for name, value, reader in zip(_names(logs), flat_logs, readers, strict=True):
        if value is not None and value.dtype.is_floating and not reader:
            tell_if_whole(step, value, f"the log {name} of a step")
    tell_if_of_largest_row(step)
    rest += [step.signals]
    plan = Plan(
        updates=[(p.optimizer, [g is not None for g in p.gradients], p.variables) for p in step.put_off],
        states=[variable for variable, _ in shared],
        assigned=step.assigned,
        log_names=tf.nest.map_structure(lambda _: 0, logs),
        log_dtypes=[None if value is None else value.dtype for value in flat_logs],
        log_readers=readers,
    )
    kept = [value for value, number in zip(given, flat_logs, strict=True) if number is None]
    return plan, Carried(gradients, rest, [old for _, old in shared], kept)


def settle(
    step: ReplicaStep,
    plan: Plan,
    sums: Iterable[Any],
    before: Iterable[Any],
    metrics: Iterable[Any] = (),
    kept: Iterable[Any] = (),
) -> tuple[Any, Any]:
    """Brings states and weights to what all replicas collected. Collective: no.

    Args:
        step: This replica's; what it has noted is not looked at.
        plan: What is done with the sums.
        sums: Of all replicas' gradients and other addends, in the order of `Carried`.
        before: The states' values from before the step.
        metrics: See `finish`.
        kept: Logs that were not summed.

    Returns:
        The logs, and the sums of all replicas' signals.
    """
    incoming, own = iter(sums), iter(kept)
    reduced = [[next(incoming) if there else None for there in places] for _, places, _ in plan.updates]
    for variable, old in zip(plan.states, before, strict=True):
        change = next(incoming)
        if not adds_up(variable):
            change /= tf.cast(step.total, change.dtype)
        variable.value.assign(old + tf.cast(change, old.dtype))
    flat_logs = [
        next(own) if dtype is None else _read_again(*reader) if reader else tf.cast(next(incoming), dtype)
        for dtype, reader in zip(plan.log_dtypes, plan.log_readers, strict=True)
    ]
    signals = next(incoming)
    for (optimizer, _, variables), gradients in zip(plan.updates, reduced, strict=True):
        with current.reduced_gradients():
            optimizer.apply(gradients, variables)
    logs = _truthful(tf.nest.pack_sequence_as(plan.log_names, flat_logs), metrics, plan.assigned)
    return logs, signals


def _names(logs: Any) -> list[str]:
    parts = tf.nest.flatten(logs)
    flat = isinstance(logs, dict) and len(logs) == len(parts)
    return sorted(logs) if flat else [str(place) for place in range(len(parts))]


def _is_number(value: Any) -> bool:
    if value is None or isinstance(value, (str, bytes, tf.RaggedTensor, tf.SparseTensor)):
        return False
    return not (tf.is_tensor(value) and value.dtype == tf.string)


def _reader(step: ReplicaStep, value: Any) -> tuple[Any, str | None] | None:
    noted = step.results.get(id(value))
    return None if noted is None else noted[1:]


def _state_part(step: ReplicaStep, variable: Any, old: Any) -> Any:
    """Returns what this replica adds to the change of one variable."""
    now = tf.convert_to_tensor(variable.value)
    change = now - old
    if old.dtype.is_floating:
        # Infinity minus infinity is NaN: a sum that has overflowed stays what it is on one device.
        change = tf.where(tf.math.is_finite(old), change, now)
    if step.is_late(variable):
        return change
    if not adds_up(variable):
        change = change * tf.cast(step.rows, change.dtype)
    return tf.where(step.counts, change, tf.zeros_like(change))


def _log_part(step: ReplicaStep, value: Any) -> Any:
    value = tf.convert_to_tensor(value)
    if value.dtype.is_floating:
        value = step.as_mean(value)
        return tf.where(step.counts, value * tf.cast(step.weight, value.dtype), tf.zeros_like(value))
    number = tf.cast(value, tf.int64)
    return tf.where(tf.equal(step.replica, 0), number, tf.zeros_like(number))


def _read_again(metric: Any, key: str | None) -> Any:
    """Returns what `metric.result()` is after the states of all replicas were brought together."""
    result = metric.result()
    return result if key is None else result[key]


def _truthful(logs: Any, metrics: Iterable[Any], assigned: list[Any]) -> Any:
    """Returns the logs with the results of the metrics that the step updated in place of one replica's."""
    if not isinstance(logs, dict):
        return logs
    changed = {id(variable) for variable in assigned}
    fresh: dict[str, Any] = {}
    for metric in metrics:
        if any(id(variable) in changed for variable in metric.variables):
            result = metric.result()
            fresh.update(result if isinstance(result, dict) else {metric.name: result})
    return {key: fresh.get(key, value) for key, value in logs.items()}


def _is_shared(variable: Any) -> bool:
    """Returns whether a variable's change must be summed: floats and metrics; seeds and iterations move alike."""
    dtype = tf.as_dtype(variable.value.dtype)
    return bool(dtype.is_floating or (adds_up(variable) and dtype.is_integer))
