"""What a script gets when it constructs a strategy: the job's own, and a word about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import (
    central_storage_strategy,
    collective_all_reduce_strategy,
    mirrored_strategy,
    one_device_strategy,
    parameter_server_strategy_v2,
)

from paceline.errors import ScriptRefused

_RETURNS_OURS: tuple[type, ...] = (
    collective_all_reduce_strategy.CollectiveAllReduceStrategy,
    mirrored_strategy.MirroredStrategy,
    one_device_strategy.OneDeviceStrategy,
)


def install(strategy: Any, tell: Callable[[str], None]) -> None:
    """Makes the constructors that a script calls return `strategy`.

    Called once per worker, before the script. Collective: no.

    Args:
        strategy: The job's strategy; an instance of every class that is patched.
        tell: Shows a person one line.
    """
    told: set[str] = set()

    def tell_once(text: str) -> None:
        if text not in told:
            told.add(text)
            tell(text)

    for named in _RETURNS_OURS:

        def new(cls: type, *args: Any, _named: type = named, **kwargs: Any) -> Any:
            if cls is type(strategy):
                return object.__new__(cls)
            tell_once(_explain(cls, strategy, args, kwargs))
            return strategy

        named.__new__ = new  # type: ignore[method-assign, assignment]
    for refused, instead in _REFUSED.items():
        refused.__init__ = _refusing(refused.__name__, instead)  # type: ignore[misc]


def _explain(cls: type, strategy: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Returns one line: what the script asked for, what it got, which arguments have no effect."""
    name = _public_name(cls)
    replicas = strategy.num_replicas_in_sync
    text = f"{name}() returns the job's strategy: {replicas} replica{'s' if replicas != 1 else ''}"
    given = [f"{_short(a)}" for a in args] + [f"{k}={_short(v)}" for k, v in kwargs.items()]
    if given:
        text += f"; without effect: {', '.join(given)} (devices, cluster and transport are decided by paceline run)"
    return text


def _public_name(cls: type) -> str:
    # By class: TensorFlow gives both classes one __name__.
    stable = collective_all_reduce_strategy.CollectiveAllReduceStrategy
    experimental = collective_all_reduce_strategy._CollectiveAllReduceStrategyExperimental
    names: dict[type, str] = {
        stable: "MultiWorkerMirroredStrategy",
        experimental: "experimental.MultiWorkerMirroredStrategy",
    }
    return names.get(cls, cls.__name__)


def _short(value: Any) -> str:
    text = repr(value) if isinstance(value, (str, int, float, list, tuple)) else type(value).__name__
    return text if len(text) < 60 else text[:57] + "..."


_REFUSED: dict[type, str] = {
    parameter_server_strategy_v2.ParameterServerStrategyV2: "paceline run --workers N trains it synchronously",
    central_storage_strategy.CentralStorageStrategy: "tf.distribute.MirroredStrategy()",
    tf.distribute.TPUStrategy: "paceline run --workers N on CPUs or GPUs",
}


def _refusing(name: str, instead: str) -> Callable[..., None]:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> None:
        raise ScriptRefused(
            f"{name} cannot be made inside this job.",
            got=f"tf.distribute...{name}(...) in the script",
            expected="MirroredStrategy, MultiWorkerMirroredStrategy, paceline.strategy() or no strategy at all",
            fix=f"use {instead}",
        )

    return refuse
