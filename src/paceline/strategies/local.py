"""The strategy of one process with several replicas: Mirrored, with Keras variables that are plain copies."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import tensorflow as tf
from keras.src.backend.tensorflow.core import Variable
from tensorflow.python.distribute import distribute_lib, mirrored_strategy

from paceline.communication import Replicas, decide_in_process
from paceline.step_options import StepOptions
from paceline.strategies.job import NAMED
from paceline.strategies.resolver import make_resolver
from paceline.strategies.run_hook import RunHook

_CROSS_DEVICE_OPS = {
    "nccl": tf.distribute.NcclAllReduce,
    "hierarchical": tf.distribute.HierarchicalCopyAllReduce,
    "one-device": tf.distribute.ReductionToOneDevice,
}


class LocalStrategy(RunHook, *NAMED):  # type: ignore[misc]
    """`MirroredStrategy` over devices of this process, and an instance of whatever a script names.

    Made by `LocalStrategy.create` before the script; constructors that the script calls
    return that object, so `__init__` must do nothing.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    @classmethod
    def create(cls, devices: Sequence[str], options: StepOptions | None = None) -> LocalStrategy:
        """Returns the strategy over `devices`, for instance `["/cpu:0", "/cpu:1"]`. Collective: no.

        Args:
            devices: Where the replicas live.
            options: How replicas are summed, and how steps compute; kept as `extended.step_options`.

        Raises:
            ConfigurationRefused: Replicas on these devices cannot be summed so.
        """
        options = _decided(options or StepOptions(), devices)
        self: LocalStrategy = object.__new__(cls)
        make_sums = _CROSS_DEVICE_OPS.get(options.communication, lambda: None)  # None: TensorFlow chooses
        extended = mirrored_strategy.MirroredExtended(self, devices=list(devices), cross_device_ops=make_sums())
        extended._cluster_resolver = make_resolver(None)
        extended.step_options = options
        distribute_lib.Strategy.__init__(self, extended)
        return self

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """Returns TensorFlow's distributed dataset, which remembers the one it was made from for `model.fit`."""
        distributed = super().experimental_distribute_dataset(dataset, options)
        distributed.paceline_behind = dataset
        return distributed

    def distribute_datasets_from_function(self, dataset_fn: Any, options: Any = None) -> Any:
        """Returns TensorFlow's distributed dataset, which remembers the one of `dataset_fn` for `model.fit`."""
        made: list[Any] = []

        def remembering(context: Any) -> Any:
            made.append(dataset_fn(context))
            return made[-1]

        distributed = super().distribute_datasets_from_function(remembering, options)
        (distributed.paceline_behind,) = made  # one process: called once
        distributed.paceline_own_share = True
        return distributed


def _decided(options: StepOptions, devices: Sequence[str]) -> StepOptions:
    """Returns the options with the communication that these devices have; the launcher only heard of them."""
    replicas = Replicas(
        num_workers=1,
        num_in_process=len(devices),
        num_gpus=sum("gpu" in device.lower() for device in devices),
        gpus_reason="TensorFlow sees none",
    )
    decision = decide_in_process(options.communication, replicas)
    return replace(options, communication="auto" if decision is None else str(decision.value))


def install_variables(strategy: LocalStrategy) -> None:
    """Makes every Keras variable mirrored, wherever it is created, with copies that are assigned to one by one.

    TensorFlow would aggregate at each assignment inside a replica (two reductions for
    each BatchNorm layer and step) and sum metrics at each read. A step does that once,
    at its end (`paceline.training.step`), so here a copy is a copy. Once per process.
    """

    def _initialize(self: Any, value: Any) -> None:
        if isinstance(value, tf.Variable):
            self._value = value
            return
        with _scope(strategy):
            self._value = tf.Variable(value, dtype=self._dtype, trainable=self.trainable, name=self.name)

    Variable._initialize = _initialize
    # Stock Keras asks the mirrored variable, which is no number: `int(optimizer.iterations)` fails (Keras 3.10-3.15).
    Variable.__int__ = lambda self: int(tf.convert_to_tensor(self.value))
    Variable.__float__ = lambda self: float(tf.convert_to_tensor(self.value))


def _scope(strategy: LocalStrategy) -> contextlib.AbstractContextManager[Any]:
    """Returns the strategy's scope, unless a replica is running: there TensorFlow's own rules hold."""
    context = tf.distribute.get_replica_context()
    if context is not None and context.strategy is strategy:
        return contextlib.nullcontext()
    scope: contextlib.AbstractContextManager[Any] = strategy.scope()
    return scope
