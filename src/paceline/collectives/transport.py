"""The contract of a transport, and the transport of a single worker."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import tensorflow as tf

#: What workers do together: a training, test or predict step; or one of a transport's collectives.
Exchange = Literal["step", "sum", "broadcast", "rows", "bytes", "barrier"]


class Watch(Protocol):
    """Told when this worker enters and leaves a collective, so that others can see where it waits."""

    def inside(self, what: Exchange, size: int = 0) -> AbstractContextManager[None]:
        """Returns a context that is entered around each collective that a host thread runs.

        Args:
            what: Which one.
            size: Its bytes, where these are the same on every worker.

        Raises:
            ScriptRefused: When it is entered: another worker has entered another one.
        """
        ...


class NoWatch:
    """Watches nothing."""

    def inside(self, what: Exchange, size: int = 0) -> AbstractContextManager[None]:
        """Returns a context that does nothing."""
        del what, size
        return nullcontext()


@runtime_checkable
class Transport(Protocol):
    """Moves tensors between the workers of one job; every method is collective.

    All workers must call the same methods in the same order with tensors of the
    same dtype (and, for `all_reduce` and `broadcast`, the same shape). The tensor
    methods work eagerly and inside a `tf.function`.
    """

    name: str
    rank: int
    size: int

    def all_reduce(self, tensor: tf.Tensor) -> tf.Tensor:
        """Returns the sum over workers, bit-identical on all of them; same shape and dtype."""
        ...

    def gather_rows(self, tensor: tf.Tensor) -> tf.Tensor:
        """Returns the rows of all workers, `[sum(B_r), ...]`, in rank order; `B_r` may differ and be 0."""
        ...

    def broadcast(self, tensor: tf.Tensor) -> tf.Tensor:
        """Returns rank 0's tensor."""
        ...

    def barrier(self) -> None:
        """Returns when every worker has called it. Host only."""
        ...

    def all_reduce_host(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Returns the sum over workers of a NumPy array. Host only."""
        ...

    def gather_bytes(self, data: bytes) -> list[bytes]:
        """Returns every worker's bytes, in rank order. Host only."""
        ...

    def close(self) -> None:
        """Lets go of what the transport holds. Not collective."""
        ...


class Alone:
    """The transport of a job with one worker: every collective is the identity."""

    name = "none"
    rank = 0
    size = 1

    def all_reduce(self, tensor: tf.Tensor) -> tf.Tensor:
        """Returns `tensor`."""
        return tensor

    def gather_rows(self, tensor: tf.Tensor) -> tf.Tensor:
        """Returns `tensor`."""
        return tensor

    def broadcast(self, tensor: tf.Tensor) -> tf.Tensor:
        """Returns `tensor`."""
        return tensor

    def barrier(self) -> None:
        """Returns at once."""

    def all_reduce_host(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Returns `array`."""
        return array

    def gather_bytes(self, data: bytes) -> list[bytes]:
        """Returns `[data]`."""
        return [data]

    def close(self) -> None:
        """Does nothing."""
