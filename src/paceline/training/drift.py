"""Workers that have trained one model into several are refused, with what differs and by how much."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from paceline.collectives.transport import Transport
from paceline.errors import ScriptRefused
from paceline.training import agreement
from paceline.training.agreement import Named

#: So many variables are shown with their values; the first is mostly the cause, the others follow from it.
_SHOWN = 3


def check_end(model: Any, transport: Transport) -> None:
    """Makes sure, at the end of `fit`, that all that is meant to be equal has the same bits everywhere.

    Every worker calls it. Collective: yes.

    Raises:
        ScriptRefused: Variables differ between workers, or between the copies of this process.
    """
    _check(model, "after fit", agreement.variables_of, transport)


def check_epoch(model: Any, transport: Transport) -> None:
    """Looks, at the end of an epoch, at what a callback changes most and costs least: scalars of optimizers.

    Every worker calls it. Collective: yes.

    Raises:
        ScriptRefused: A learning rate or another scalar differs.
    """
    _check(model, "after an epoch", agreement.optimizer_scalars_of, transport)


def _check(model: Any, when: str, named_in: Callable[[Any], list[Named]], transport: Transport) -> None:
    if model.distribute_strategy.num_replicas_in_sync == 1:
        return
    different = agreement.unequal(named_in(model), transport)
    if not different:
        return
    shown = [f"{n.name} ({_difference(n.variable, transport)})" for n in different[:_SHOWN]]
    more = f" and {len(different) - _SHOWN} more" if len(different) > _SHOWN else ""
    who = "workers" if transport.size > 1 else "replicas"
    raise ScriptRefused(
        f"{model.name}: {when} the {who} differ: they train several models, not one.",
        got=", ".join(shown) + more,
        expected="every weight, optimizer variable and metric with the same bits everywhere",
        fix="let what callbacks and train_step assign depend on epoch, step and logs alone: not on the process, the "
        "host, the time, os.urandom, or the loss of a replica's own rows",
    )


def _difference(variable: Any, transport: Transport) -> str:
    """Returns in words how copies of a variable differ, the same text on every worker. Collective: yes."""
    copies = getattr(variable.value, "values", None) or (variable.value,)
    chief = _numbers(transport.broadcast(tf.convert_to_tensor(copies[0])))
    mine = [_numbers(copy) for copy in copies]
    far = [float(np.max(np.abs(copy - chief), initial=0.0, where=copy != chief)) for copy in mine]
    told = [far, [float(copy[0]) for copy in mine] if chief.size == 1 else []]
    everybody = [json.loads(part) for part in transport.gather_bytes(json.dumps(told).encode())]
    owner = "worker" if transport.size > 1 else "replica"
    fars = [max(part[0]) for part in everybody] if transport.size > 1 else everybody[0][0]
    place = max(range(len(fars)), key=lambda i: -1.0 if np.isnan(fars[i]) else fars[i])
    if chief.size != 1:
        return f"by up to {fars[place]:.3g} on {owner} {place}"
    values = [part[1][0] for part in everybody] if transport.size > 1 else everybody[0][1]
    return f"{values[0]:.9g} on {owner} 0, {values[place]:.9g} on {owner} {place}"


def _numbers(value: Any) -> np.ndarray[Any, Any]:
    return np.ravel(np.asarray(value)).astype(np.float64)
