"""Which step this thread is in; the hooks on Keras ask here."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paceline.training.step import ReplicaStep


class _PerThread(threading.local):
    step: ReplicaStep | None = None
    reduced: bool = False
    keras_assigns: bool = False


_state = _PerThread()


def current_step() -> ReplicaStep | None:
    """Returns the step that this thread is in, None outside of one."""
    return _state.step


def gradients_are_reduced() -> bool:
    """Returns whether an optimizer is being given gradients that are sums over replicas already."""
    return _state.reduced


@contextlib.contextmanager
def entered(step: ReplicaStep) -> Iterator[None]:
    """Makes `step` the current one."""
    previous = _state.step
    _state.step = step
    try:
        yield
    finally:
        _state.step = previous


@contextlib.contextmanager
def reduced_gradients() -> Iterator[None]:
    """Says that an optimizer is being given reduced gradients."""
    previous = _state.reduced
    _state.reduced = True
    try:
        yield
    finally:
        _state.reduced = previous


def keras_is_assigning() -> bool:
    """Returns whether the variable that is being assigned to is the inner one of a Keras variable."""
    return _state.keras_assigns


@contextlib.contextmanager
def keras_assigns() -> Iterator[None]:
    """Says that a Keras variable is assigning to its inner one."""
    previous = _state.keras_assigns
    _state.keras_assigns = True
    try:
        yield
    finally:
        _state.keras_assigns = previous
