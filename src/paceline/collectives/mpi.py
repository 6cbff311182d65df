"""Sums over MPI: the fast way between CPU processes, and over a fabric that MPI knows.

mpi4py releases Python's lock while it waits, so that TensorFlow's threads go on.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import tensorflow as tf

from paceline.collectives.buffers import Buffers
from paceline.collectives.ordering import OrderToken
from paceline.collectives.transport import NoWatch, Watch
from paceline.errors import TransportError

#: MPI knows no booleans and no 16-bit floats: these travel as the type named here, but for sums of 16-bit floats.
_WIDER = {tf.float16: tf.float32, tf.bfloat16: tf.float32, tf.bool: tf.uint8}
_SHORT = (tf.float16, tf.bfloat16)


class MpiTransport:
    """Transport over mpi4py's `COMM_WORLD`; see `paceline.collectives.transport.Transport`.

    Args:
        rank: This worker's rank as the launcher gave it.
        size: The number of workers as the launcher gave it.
        watch: Told around each collective.

    Raises:
        TransportError: mpi4py or an MPI library is missing, or MPI sees another job than the launcher's.
    """

    name = "mpi"

    def __init__(self, rank: int, size: int, watch: Watch | None = None) -> None:
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError) as error:
            raise TransportError(
                "MPI cannot be used as the transport between workers.",
                got=str(error).strip().splitlines()[0] if str(error) else type(error).__name__,
                expected="mpi4py and an MPI library (MPICH is on PyPI)",
                fix="pip install mpi4py mpich   or   paceline run --communication ring ...",
            ) from error
        # The launcher's introduction is used up; a process that the script starts must not answer to it.
        for variable in [name for name in os.environ if name.startswith("PMI_")]:
            del os.environ[variable]
        self._comm: Any = MPI.COMM_WORLD
        if (self._comm.Get_rank(), self._comm.Get_size()) != (rank, size):
            raise TransportError(
                "MPI sees another job than the launcher started.",
                got=f"MPI rank {self._comm.Get_rank()} of {self._comm.Get_size()} ({_library(MPI)})",
                expected=f"rank {rank} of {size}",
                fix="pip install mpich   (the library that mpi4py loads must be the one that the launcher speaks to)",
            )
        self.rank = rank
        self.size = size
        self._watch = watch or NoWatch()
        self._token = OrderToken()
        self._buffers = Buffers()

    # -- tensors -----------------------------------------------------------------------------

    def all_reduce(self, tensor: tf.Tensor) -> tf.Tensor:
        """Returns the sum over workers; `tensor` of any shape and numeric dtype. Collective.

        Floats of 16 bits travel as they are, are added in float32, and are rounded once.
        """
        if tensor.dtype in _SHORT:
            return self._through_numpy(self._all_reduce_short, tensor, tensor.shape, tensor.dtype)
        return self._through_numpy(self._all_reduce_array, tensor, tensor.shape)

    def broadcast(self, tensor: tf.Tensor) -> tf.Tensor:
        """Returns rank 0's tensor; strings are not supported. Collective."""
        return self._through_numpy(self._broadcast_array, tensor, tensor.shape)

    def gather_rows(self, tensor: tf.Tensor) -> tf.Tensor:
        """Returns all workers' rows in rank order, `[sum(B_r), ...]`. Collective."""
        if tensor.dtype == tf.string:
            return self._gather_strings(tensor)
        return self._through_numpy(self._gather_array, tensor, [None, *tensor.shape[1:]])

    def _gather_strings(self, tensor: tf.Tensor) -> tf.Tensor:
        def gather(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
            with self._watch.inside("rows"):
                parts = self._comm.allgather(array.tolist())
            rest = array.shape[1:]
            joined = [row for part in parts for row in part]
            return np.array(joined, dtype=object).reshape(len(joined), *rest)

        def call() -> tf.Tensor:
            return tf.numpy_function(gather, [tensor], tf.string, stateful=True)

        result = self._token.run(call)
        result.set_shape([None, *tensor.shape[1:]])
        return result

    def _through_numpy(self, function: Any, tensor: tf.Tensor, shape: Any, wire: Any = None) -> tf.Tensor:
        wire = wire or _WIDER.get(tensor.dtype, tensor.dtype)
        sent = tf.cast(tensor, wire) if wire != tensor.dtype else tensor
        if tf.executing_eagerly():
            result = tf.convert_to_tensor(function(sent.numpy()), dtype=wire)
        else:
            result = self._token.run(lambda: tf.numpy_function(function, [sent], wire, stateful=True))
            result.set_shape(shape)
        return tf.cast(result, tensor.dtype) if wire != tensor.dtype else result

    # -- arrays ------------------------------------------------------------------------------

    def _all_reduce_array(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        received = self._buffers.take(array.shape, array.dtype)
        with self._watch.inside("sum", array.nbytes):
            self._comm.Allreduce(np.ascontiguousarray(array), received)
        return received

    def _all_reduce_short(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Sums floats of 16 bits: each worker adds one part of all workers' arrays, and hands it round."""
        each = -(-array.size // self.size)
        sent, parts = (np.zeros(each * self.size, array.dtype) for _ in range(2))
        sent[: array.size] = array.reshape(-1)
        with self._watch.inside("sum", array.nbytes):
            self._comm.Alltoall(sent.view(np.uint8), parts.view(np.uint8))
            with np.errstate(over="ignore"):  # more than a float16 holds is infinity, as it is on one device
                mine = parts.reshape(self.size, each).sum(axis=0, dtype=np.float32).astype(array.dtype)
            self._comm.Allgather(mine.view(np.uint8), sent.view(np.uint8))
        return sent[: array.size].reshape(array.shape)

    def _broadcast_array(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        buffer = np.array(array, order="C", copy=True)
        with self._watch.inside("broadcast", array.nbytes):
            self._comm.Bcast(buffer.view(np.uint8) if buffer.ndim else buffer.reshape(1).view(np.uint8))
        return buffer

    def _gather_array(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        with self._watch.inside("rows"):
            shapes = self._comm.allgather(array.shape)
            _same_row_shape(shapes)
            row = int(np.prod(array.shape[1:], dtype=np.int64)) * array.itemsize
            counts = [shape[0] * row for shape in shapes]
            received = np.empty((sum(s[0] for s in shapes), *array.shape[1:]), dtype=array.dtype)
            mine = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            self._comm.Allgatherv(mine, [received.reshape(-1).view(np.uint8), counts])
        return received

    # -- host --------------------------------------------------------------------------------

    def barrier(self) -> None:
        """Returns when every worker has called it. Collective."""
        with self._watch.inside("barrier"):
            self._comm.Barrier()

    def all_reduce_host(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Returns the sum over workers of a NumPy array. Collective."""
        return self._all_reduce_array(array)

    def gather_bytes(self, data: bytes) -> list[bytes]:
        """Returns every worker's bytes, in rank order. Collective."""
        with self._watch.inside("bytes"):
            return list(self._comm.allgather(data))

    def close(self) -> None:
        """Does nothing: MPI is finalised when the process exits."""


def _library(mpi: Any) -> str:
    """Returns the first line of what the MPI library says of itself."""
    return str(mpi.Get_library_version()).splitlines()[0]


def _same_row_shape(shapes: list[tuple[int, ...]]) -> None:
    """Raises TransportError if the rows of the workers cannot stand in one array."""
    if len({shape[1:] for shape in shapes}) > 1:
        raise TransportError(
            "The workers' rows have different shapes and cannot be put together.",
            got=", ".join(f"worker {rank}: {shape}" for rank, shape in enumerate(shapes)),
            expected="the same shape in all dimensions but the first",
            fix="pad the model's output to one length, for instance with to_tensor(shape=[None, LENGTH])",
        )
