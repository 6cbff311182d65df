"""Lets a later room wrap what a script gives to `strategy.run`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class RunHook:
    """Mixed into the job's strategies, before TensorFlow's classes.

    Attributes:
        around_run: Wraps the function that a script gives to `run`; None: nothing is wrapped.
    """

    around_run: Callable[[Any], Any] | None = None

    def run(self, fn: Any, args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
        """Runs `fn` on every replica; see `tf.distribute.Strategy.run`."""
        if self.around_run is not None:
            fn = self.around_run(fn)
        return super().run(fn, args, kwargs, options)  # type: ignore[misc]
