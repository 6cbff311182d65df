"""Lets a later room wrap what a script gives to `strategy.run`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorflow.python.autograph.impl.api import autograph_artifact


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

    # Called inside a script's `tf.function`: AutoGraph converts the script's function, as TensorFlow's own `run` has
    # it, and must not convert this code.
    autograph_artifact(run)
