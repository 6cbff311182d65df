"""Refuses loops that would train N times the same instead of once on N replicas."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from paceline.errors import ScriptRefused

_TWO_LINES = (
    "dataset = paceline.strategy().experimental_distribute_dataset(dataset)  and  "
    "paceline.strategy().run(train_step, args=(batch,))"
)


def check_apply(optimizer: Any) -> None:
    """Raises ScriptRefused if an optimizer is used outside of every replica context of a job of several.

    Called by the hook on `optimizer.apply`. Collective: no.
    """
    strategy = tf.distribute.get_strategy()
    if strategy.num_replicas_in_sync > 1 and not _in_replica(strategy):
        refuse(f"{type(optimizer).__name__}.apply_gradients(...) outside of strategy.run(...)", strategy)


def _in_replica(strategy: Any) -> bool:
    context = tf.distribute.get_replica_context()
    return context is not None and context.strategy is strategy


def refuse(got: str, strategy: Any) -> None:
    """Raises ScriptRefused with the two lines that mend a bare training loop."""
    count = strategy.num_replicas_in_sync
    raise ScriptRefused(
        f"This training loop never combines the gradients of the {count} replicas: each would train by itself.",
        got=got,
        expected="the step inside strategy.run, on a dataset shared out by the strategy (or model.fit)",
        fix=_TWO_LINES,
    )
