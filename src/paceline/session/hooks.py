"""Puts every hook on Keras and TensorFlow in place, in one order, once per process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from paceline.collectives.ring import reuse_instance_keys
from paceline.data import deterministic, draws
from paceline.session import frames
from paceline.strategies import constructors, default
from paceline.strategies.local import LocalStrategy, install_variables
from paceline.training import (
    decisions,
    exchange,
    gradients,
    guard,
    inline,
    layer_losses,
    losses,
    metrics,
    own_loop,
    padding,
    random,
    results,
    shared_variables,
    taped,
    trainer,
    variables,
)
from paceline.training.making import Observer


def install(strategy: Any, observer: Observer, tell: Callable[[str], None], *, repeats: bool = False) -> None:
    """Makes Keras train under `strategy`, whatever the script does.

    Args:
        strategy: The job's strategy.
        observer: Told of what runs.
        tell: Shows a person one line.
        repeats: Whether data must be the same when the job is started again, also with one worker.
    """
    frames.install()
    constructors.install(strategy, tell)
    default.set_default(strategy)
    if type(strategy) is LocalStrategy:  # TensorFlow's metaclass calls every such strategy an instance of every other
        install_variables(strategy)
        layer_losses.install()
        reuse_instance_keys()
    decisions.install(tell)
    transport = getattr(strategy, "transport", None)  # None: one process
    has_peers = transport is not None and transport.size > 1
    if repeats or has_peers:
        deterministic.install(decisions.tell, has_peers=has_peers)
        draws.install()
    if strategy.num_replicas_in_sync > 1:
        shared_variables.install(are_shared=transport is None)
        padding.install()
    for hook in (variables, metrics, results, losses, gradients, taped, random, exchange, inline):
        hook.install()
    guard.install()
    strategy.around_run = own_loop.around_run
    trainer.install(strategy, observer)
