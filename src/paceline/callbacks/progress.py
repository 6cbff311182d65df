"""Tells the session where training is: epochs as Keras' callbacks see them."""

from __future__ import annotations

import functools
from typing import Any, Protocol

from keras.src.callbacks.callback_list import CallbackList
from keras.src.utils.python_utils import pythonify_logs


class EpochObserver(Protocol):
    """Who wants to know."""

    def epoch_begins(self, epoch: int, steps: int | None) -> None:
        """Called at the start of an epoch."""
        ...

    def epoch_ends(self, epoch: int, logs: dict[str, Any]) -> None:
        """Called at the end of an epoch, after the callbacks."""
        ...


def install(observer: EpochObserver) -> None:
    """Tells `observer` of every epoch. Once per worker. Collective: no."""
    begin, end = CallbackList.on_epoch_begin, CallbackList.on_epoch_end

    @functools.wraps(begin)
    def on_epoch_begin(self: Any, epoch: int, logs: Any = None) -> None:
        observer.epoch_begins(epoch, (self.params or {}).get("steps"))
        begin(self, epoch, logs)

    @functools.wraps(end)
    def on_epoch_end(self: Any, epoch: int, logs: Any = None) -> None:
        end(self, epoch, logs)
        observer.epoch_ends(epoch, dict(pythonify_logs(logs) or {}))

    CallbackList.on_epoch_begin = on_epoch_begin
    CallbackList.on_epoch_end = on_epoch_end
