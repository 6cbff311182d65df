"""The strategy of a job with one replica in each process.

Its variables are plain `tf.Variable`s: nothing about a model depends on whether it was
made inside `scope()`, in another thread or after `clear_session()`. Only what travels
between workers is ours, and that is the transport's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import (
    collective_all_reduce_strategy,
    distribute_lib,
    mirrored_strategy,
    one_device_strategy,
    reduce_util,
)

from paceline.collectives import forbidden
from paceline.collectives.fused import sum_dense, sum_slices
from paceline.collectives.transport import Transport
from paceline.step_options import StepOptions
from paceline.strategies.run_hook import RunHook

#: The classes that a script may name; `isinstance` must hold for each of them.
NAMED = (
    collective_all_reduce_strategy._CollectiveAllReduceStrategyExperimental,
    mirrored_strategy.MirroredStrategy,
    one_device_strategy.OneDeviceStrategy,
)


class JobStrategy(RunHook, *NAMED):  # type: ignore[misc]
    """The job's strategy as one worker sees it: `size` replicas, one of them here.

    An instance of `MultiWorkerMirroredStrategy`, `MirroredStrategy` and
    `OneDeviceStrategy`, so that a script that names any of these gets what it named.
    Made by `JobStrategy.create` before the script runs; constructors that the script
    calls return that object, so `__init__` must do nothing.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    @classmethod
    def create(
        cls,
        transport: Transport,
        device: str,
        distribute_dataset: Callable[[Any], Any],
        cluster_resolver: Any = None,
        *,
        options: StepOptions | None = None,
    ) -> JobStrategy:
        """Returns the strategy of this worker. Collective: no.

        Args:
            transport: Moves tensors between workers.
            device: Where the replica lives, for instance `/gpu:0`.
            distribute_dataset: Turns a dataset of global batches into this worker's share.
            cluster_resolver: What `strategy.cluster_resolver` shows to the script.
            options: How steps compute and communicate, kept as `extended.step_options`.
        """
        self: JobStrategy = object.__new__(cls)
        extended = JobExtended(self, device, transport, distribute_dataset, cluster_resolver, options)
        distribute_lib.Strategy.__init__(self, extended)
        return self

    @property
    def transport(self) -> Transport:
        """What moves tensors between the workers."""
        transport: Transport = self.extended.transport
        return transport


class JobReplicaContext(distribute_lib.ReplicaContext):
    """The replica context of this worker's one replica."""

    def __init__(self, strategy: JobStrategy, rank: int) -> None:
        super().__init__(strategy, replica_id_in_sync_group=rank)

    @property
    def devices(self) -> Sequence[str]:
        """The replica's one device."""
        devices: Sequence[str] = self._strategy.extended.worker_devices
        return devices


class JobExtended(one_device_strategy.OneDeviceExtended):
    """What `JobStrategy` does: one device here, sums over a transport."""

    def __init__(
        self,
        container: JobStrategy,
        device: str,
        transport: Transport,
        distribute_dataset: Callable[[Any], Any],
        cluster_resolver: Any,
        options: StepOptions | None = None,
    ) -> None:
        super().__init__(container, device)
        self.step_options = options or StepOptions()
        self.transport = transport
        self._distribute_dataset = distribute_dataset
        self._cluster_resolver = cluster_resolver

    # -- who is there ------------------------------------------------------------------------

    @property
    def _num_replicas_in_sync(self) -> int:
        return self.transport.size

    def _in_multi_worker_mode(self) -> bool:
        return self.transport.size > 1

    def _get_local_replica_id(self, replica_id_in_sync_group: int) -> int:
        del replica_id_in_sync_group
        return 0

    @property
    def should_checkpoint(self) -> bool:
        """Whether this worker writes checkpoints: the chief does."""
        return self.transport.rank == 0

    @property
    def should_save_summary(self) -> bool:
        """Whether this worker writes summaries: the chief does."""
        return self.transport.rank == 0

    @property
    def experimental_between_graph(self) -> bool:
        """Whether each worker has a graph of its own."""
        return self.transport.size > 1

    # -- variables: plain ones, wherever they were made ----------------------------------------

    def variable_created_in_scope(self, v: Any) -> bool:
        """Returns True: a variable made outside of the scope is no different from one made inside."""
        del v
        return True

    def _validate_colocate_with_variable(self, colocate_with_variable: Any) -> None:
        pass

    # -- running -----------------------------------------------------------------------------

    def _call_for_each_replica(self, fn: Any, args: Any, kwargs: Any) -> Any:
        strategy = self._container_strategy()
        with tf.device(self._device), JobReplicaContext(strategy, self.transport.rank):
            return fn(*args, **kwargs)

    # -- sums --------------------------------------------------------------------------------

    def sum_all(
        self,
        values: Sequence[Any],
        wires: Sequence[tf.DType] | None = None,
        bucket_bytes: int = 0,
        alike: Sequence[bool] | None = None,
    ) -> list[Any]:
        """Returns the sums over workers of dense tensors and of `IndexedSlices`. Collective: yes.

        Args:
            values: Alike on every worker, but for the number of rows of slices.
            wires: What each dense tensor travels as; its own dtype by default.
            bucket_bytes: See `paceline.collectives.fused.pack`.
            alike: For each value whether it is slices of which every worker has the same (`fused.sum_slices`).
        """
        if forbidden.is_forbidden():
            return list(values)
        results: list[Any] = list(values)
        dense = [i for i, v in enumerate(values) if not isinstance(v, tf.IndexedSlices)]
        tensors = [tf.convert_to_tensor(values[i]) for i in dense]
        for i, total in zip(dense, sum_dense(tensors, self.transport.all_reduce, wires, bucket_bytes), strict=True):
            results[i] = total
        for i, value in enumerate(values):
            if isinstance(value, tf.IndexedSlices):
                num_alike = self.transport.size if alike is not None and alike[i] else 0
                results[i] = sum_slices(value, self.transport.gather_rows, num_alike)
        return results

    def _mean_from_sum(self, value: Any) -> Any:
        if isinstance(value, tf.IndexedSlices):
            return tf.IndexedSlices(value.values / self.transport.size, value.indices, value.dense_shape)
        return value / tf.cast(self.transport.size, value.dtype)

    def _reduce_all(self, reduce_op: Any, values: Sequence[Any]) -> list[Any]:
        if self.transport.size == 1:
            return list(values)
        totals = self.sum_all(values)
        if reduce_op == reduce_util.ReduceOp.MEAN:
            return [self._mean_from_sum(v) for v in totals]
        return totals

    def _reduce_to(self, reduce_op: Any, value: Any, destinations: Any, options: Any) -> Any:
        del destinations, options
        return self._reduce_all(reduce_op, [value])[0]

    def _batch_reduce_to(self, reduce_op: Any, value_destination_pairs: Any, options: Any) -> list[Any]:
        del options
        return self._reduce_all(reduce_op, [value for value, _ in value_destination_pairs])

    def _gather_to_implementation(self, value: Any, destinations: Any, axis: int, options: Any) -> Any:
        del destinations, options
        if self.transport.size == 1:
            return value
        value = tf.convert_to_tensor(value)
        if axis == 0:
            return self.transport.gather_rows(value)
        order = [axis, *[d for d in range(value.shape.rank) if d != axis]]
        back = [order.index(d) for d in range(value.shape.rank)]
        return tf.transpose(self.transport.gather_rows(tf.transpose(value, order)), back)

    def _broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        del destinations
        return tensor

    # -- data --------------------------------------------------------------------------------

    def _experimental_distribute_dataset(self, dataset: Any, options: Any) -> Any:
        del options
        return self._distribute_dataset(dataset)

    def _distribute_datasets_from_function(self, dataset_fn: Any, options: Any) -> Any:
        del options
        size, rank = self.transport.size, self.transport.rank
        context = distribute_lib.InputContext(
            num_input_pipelines=size, input_pipeline_id=rank, num_replicas_in_sync=size
        )
        dataset = dataset_fn(context)
        dataset.paceline_own_share = True
        return dataset

    def _experimental_distribute_values_from_function(self, value_fn: Any) -> Any:
        return value_fn(distribute_lib.ValueContext(self.transport.rank, self.transport.size))
