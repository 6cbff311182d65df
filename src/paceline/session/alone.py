"""`paceline.strategy()` in a script that was started by plain `python`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import tensorflow as tf

from paceline.callbacks import alike
from paceline.collectives.transport import Alone
from paceline.session import hooks
from paceline.session.state import State
from paceline.step_options import StepOptions
from paceline.strategies.job import JobStrategy
from paceline.strategies.local import LocalStrategy
from paceline.strategies.resolver import make_resolver


class _Unobserved:
    """Watches nothing."""

    @contextlib.contextmanager
    def running(self, what: str, model: Any) -> Iterator[None]:
        """Watches nothing."""
        del what, model
        yield

    def before_step(self, model: Any, trace: Callable[[], None]) -> None:
        """Watches nothing."""

    def after_step(self, model: Any, result: Any, steps: int) -> None:
        """Watches nothing."""

    def decided(self, model: Any, step: str, choice: Any) -> Any:
        """Returns `choice`: there is no run that it could be a part of."""
        del model, step
        return choice

    def chief_says(self, number: int) -> int:
        """Returns `number`: this process is the chief."""
        return number


def start_alone(options: StepOptions) -> State:
    """Returns the place of a process without a job: all GPUs of this machine, or its CPU. Collective: no.

    Args:
        options: How this process's replicas are summed, where it has several, and what their steps do.

    Raises:
        ConfigurationRefused: Its replicas cannot be summed as the options say.
    """
    gpus = [device.name for device in tf.config.list_logical_devices("GPU")]
    strategy: Any
    if len(gpus) > 1:
        strategy = LocalStrategy.create(gpus, options)
    else:
        strategy = JobStrategy.create(
            Alone(),
            gpus[0] if gpus else "/cpu:0",
            lambda dataset: dataset,
            make_resolver(None),
            options=replace(options, communication="auto"),
        )
    alike.install(Alone())
    hooks.install(strategy, _Unobserved(), lambda line: print(f"paceline: {line}", file=sys.stderr))
    return State(strategy=strategy, rank=0, num_workers=1)
