"""Sums over TensorFlow's own collectives: RING over gRPC on CPUs, NCCL where GPUs are.

The gRPC servers and the coordination service are brought up by TensorFlow's
`MultiWorkerMirroredStrategy`, which is then used for nothing else.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.distribute import collective_all_reduce_strategy, collective_util, cross_device_utils
from tensorflow.python.ops import collective_ops

from paceline.collectives.ordering import OrderToken
from paceline.collectives.transport import NoWatch, Watch
from paceline.errors import TransportError
from paceline.tuning.ring import RingTuning

#: Groups below this are TensorFlow's own (`cross_device_utils.CollectiveKeys` counts from 1).
_GROUP_KEY = 7001
#: Powers of two that fit into an int32 size.
_POWERS = 31


class RingTransport:
    """Transport over TensorFlow collectives; see `paceline.collectives.transport.Transport`.

    Instance keys are given out in the order of calls while a graph is traced and are
    then constants of that graph, so a step re-uses them: fresh keys would cost one
    call to the leader and leak about 0.7 kB each (`instance_table_` never shrinks).

    Args:
        cluster: `{"worker": ["host:port", ...]}`.
        rank: This worker's index in it.
        watch: Told around each collective that a host thread runs.
        hint: `ring` or `nccl`.
        tuning: How buffers are moved.

    Raises:
        TransportError: TensorFlow cannot form the cluster.
    """

    name = "ring"

    def __init__(
        self,
        cluster: dict[str, list[str]],
        rank: int,
        watch: Watch | None = None,
        hint: str = "ring",
        tuning: RingTuning | None = None,
    ) -> None:
        self.tuning = tuning or RingTuning()
        self.rank = rank
        self.size = len(cluster["worker"])
        self.name = hint
        self._hint = hint
        self._watch = watch or NoWatch()
        resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
            tf.train.ClusterSpec(cluster), task_type="worker", task_id=rank
        )
        implementation = {
            "ring": collective_util.CommunicationImplementation.RING,
            "nccl": collective_util.CommunicationImplementation.NCCL,
        }[hint]
        try:
            with _tuned(self.tuning):
                self._holder = tf.distribute.MultiWorkerMirroredStrategy(
                    cluster_resolver=resolver,
                    communication_options=tf.distribute.experimental.CommunicationOptions(
                        implementation=implementation
                    ),
                )
        except (tf.errors.OpError, RuntimeError) as error:
            raise TransportError(
                "TensorFlow cannot connect the workers.",
                got=str(error).splitlines()[0],
                expected=f"every worker of {cluster['worker']} reachable",
                fix="paceline doctor",
            ) from error
        self._device = self._holder.extended.worker_devices[0]
        self._next_key = 100_000
        self._eager_keys: dict[tuple[Any, ...], int] = {}
        self._token = OrderToken()

    def _key(self, *signature: Any) -> int:
        """Returns an instance key: fresh while tracing, one per signature when eager."""
        if tf.executing_eagerly() and signature in self._eager_keys:
            return self._eager_keys[signature]
        self._next_key += 1
        if tf.executing_eagerly():
            self._eager_keys[signature] = self._next_key
        return self._next_key

    def all_reduce(self, tensor: tf.Tensor) -> tf.Tensor:
        """Returns the sum over workers; `tensor` of any shape and numeric dtype. Collective."""
        wire = (
            tf.int32 if tensor.dtype in (tf.bool, tf.int8, tf.uint8, tf.int16, tf.uint16, tf.uint32) else tensor.dtype
        )
        sent = tf.cast(tensor, wire)
        if tf.executing_eagerly() or tensor.shape.is_fully_defined():
            result = self._all_reduce(sent, self._key("reduce", wire, tuple(tensor.shape)))
        else:
            result = self._all_reduce_any_size(sent)
        result.set_shape(tensor.shape)
        return tf.cast(result, tensor.dtype)

    def _all_reduce(self, tensor: tf.Tensor, key: Any) -> tf.Tensor:
        def call() -> tf.Tensor:
            with tf.device(self._device):
                return collective_ops.all_reduce_v2(
                    tensor,
                    group_size=self.size,
                    group_key=_GROUP_KEY,
                    instance_key=key,
                    merge_op="Add",
                    final_op="Id",
                    communication_hint=self._hint,
                    max_subdivs_per_device=self.tuning.max_subdivs,
                )

        # What is traced may have no size yet.
        size = int(tensor.shape.num_elements()) * tensor.dtype.size if tf.executing_eagerly() else 0
        with self._watch.inside("sum", size):
            return self._token.run(call)

    def _all_reduce_any_size(self, tensor: tf.Tensor) -> tf.Tensor:
        """Returns the sum of tensors whose size is known only when the graph runs.

        TensorFlow binds an instance key to the first shape that it sees (2.19 to 2.21: "Shape mismatch in the
        collective instance"). So the size is rounded up to a power of two, and each power has a key of its own.
        """
        first = self._next_key + 1
        self._next_key += _POWERS
        flat = tf.reshape(tensor, [-1])
        powers = tf.bitwise.left_shift(tf.ones([_POWERS], tf.int32), tf.range(_POWERS))
        power = tf.reduce_sum(tf.cast(powers < tf.size(flat), tf.int32))
        padded = tf.pad(flat, [[0, powers[power] - tf.size(flat)]])
        total = self._all_reduce(padded, first + power)
        return tf.reshape(total[: tf.size(flat)], tf.shape(tensor))

    def broadcast(self, tensor: tf.Tensor) -> tf.Tensor:
        """Returns rank 0's tensor. Collective."""
        kept = tensor if self.rank == 0 else tf.zeros_like(tensor)
        return self.all_reduce(kept)

    def gather_rows(self, tensor: tf.Tensor) -> tf.Tensor:
        """Returns all workers' rows in rank order, `[sum(B_r), ...]`. Collective."""
        if tensor.dtype == tf.string:
            return self._gather_strings(tensor)
        wire = {tf.bfloat16: tf.float32, tf.bool: tf.int32, tf.uint8: tf.int32, tf.int8: tf.int32}.get(
            tensor.dtype, tensor.dtype
        )
        rows = tf.shape(tensor)[0]
        counts = self.all_reduce(tf.one_hot(self.rank, self.size, on_value=rows, off_value=0, dtype=tf.int32))
        start = tf.reduce_sum(counts[: self.rank])
        total = tf.reduce_sum(counts)
        paddings = tf.concat([[[start, total - start - rows]], tf.zeros([tf.rank(tensor) - 1, 2], tf.int32)], axis=0)
        placed = tf.pad(tf.cast(tensor, wire), paddings)
        summed = self.all_reduce(placed)
        result = tf.cast(summed, tensor.dtype)
        result.set_shape([None, *tensor.shape[1:]])
        return result

    def _gather_strings(self, tensor: tf.Tensor) -> tf.Tensor:
        flat = tf.reshape(tensor, [-1])
        lengths = self.gather_rows(tf.strings.length(flat))
        joined = tf.strings.reduce_join(flat)
        codes = self.gather_rows(tf.io.decode_raw(joined, tf.uint8))
        characters = tf.gather(tf.constant([bytes([i]) for i in range(256)]), tf.cast(codes, tf.int32))
        pieces = tf.RaggedTensor.from_row_lengths(characters, tf.cast(lengths, tf.int64))
        strings = tf.strings.reduce_join(pieces, axis=-1)
        return tf.reshape(strings, tf.concat([[-1], tf.shape(tensor)[1:]], axis=0))

    def barrier(self) -> None:
        """Returns when every worker has called it. Collective."""
        self.all_reduce_host(np.zeros(1, np.int32))

    def all_reduce_host(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Returns the sum over workers of a NumPy array. Collective."""
        with tf.init_scope():
            return np.asarray(self.all_reduce(tf.constant(array)).numpy())

    def gather_bytes(self, data: bytes) -> list[bytes]:
        """Returns every worker's bytes, in rank order. Collective."""
        with tf.init_scope():
            mine = np.frombuffer(data, np.uint8).astype(np.int32)
            lengths = np.zeros(self.size, np.int64)
            lengths[self.rank] = mine.size
            lengths = self.all_reduce_host(lengths)
            placed = np.zeros(int(lengths.sum()) or 1, np.int32)
            start = int(lengths[: self.rank].sum())
            placed[start : start + mine.size] = mine
            everything = self.all_reduce_host(placed).astype(np.uint8).tobytes()
        ends = np.cumsum(lengths)
        return [everything[int(e - n) : int(e)] for e, n in zip(ends, lengths, strict=True)]

    def close(self) -> None:
        """Does nothing: TensorFlow's server lives as long as the process."""


@contextlib.contextmanager
def _tuned(tuning: RingTuning) -> Iterator[None]:
    """Within it, TensorFlow's server starts with what `tuning` says of its channels and messages."""
    owner = collective_all_reduce_strategy.CollectiveAllReduceExtended
    original = owner._update_config_proto

    @functools.wraps(original)
    def update(self: Any, config: Any) -> Any:
        updated = original(self, config)
        updated.experimental.recv_buf_max_chunk = tuning.chunk_bytes
        updated.rpc_options.num_channels_per_target = tuning.channels
        return updated

    owner._update_config_proto = update
    try:
        yield
    finally:
        owner._update_config_proto = original


def reuse_instance_keys() -> None:
    """Makes TensorFlow's own launchers give each call site one key (they give each call a fresh one)."""
    cross_device_utils.CollectiveReplicaLauncher._prefer_unique_instance_key = False
