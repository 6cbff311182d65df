"""Puts paceline's functions under `model.fit`, `evaluate`, `predict` and the `_on_batch` methods.

Keras' own loops stay: epochs, callbacks, history, progress bar and messages are Keras'.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import keras
import tensorflow as tf
from keras.src.backend.tensorflow import trainer as keras_trainer
from keras.src.backend.tensorflow.core import compute_output_spec
from keras.src.trainers.data_adapters.data_adapter_utils import unpack_x_y_sample_weight

from paceline.data import rows
from paceline.data.own_share import dataset_behind, is_own_share
from paceline.errors import ConfigurationRefused, ScriptRefused
from paceline.training import gradients, groups, guard, jit
from paceline.training.making import Observer, making, making_predict
from paceline.training.pace import Loop, Pace, current_loop, running
from paceline.training.step import Kind

#: Place of `epochs` among the arguments of `fit` after `self` (Keras 3.10 to 3.15).
_EPOCHS_PLACE = 3


def install(strategy: Any, observer: Observer) -> None:
    """Puts the functions in place. Once per worker, before the script.

    Args:
        strategy: The job's strategy.
        observer: Told of what runs.
    """
    trainer = keras_trainer.TensorFlowTrainer
    trainer.make_train_function = making("train_function", Kind.FIT, observer)
    trainer.make_test_function = making("test_function", Kind.TEST, observer)
    trainer.make_predict_function = making_predict(observer)
    trainer._maybe_symbolic_build = _symbolic_build(strategy)
    jit.install()
    groups.install(keras_trainer.TFEpochIterator)
    _install_epoch_iterator(keras_trainer.TFEpochIterator)
    for name in ("fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch"):
        setattr(trainer, name, _observed(name, getattr(trainer, name), strategy, observer))


def _symbolic_build(strategy: Any) -> Callable[..., None]:
    """Returns Keras' `_maybe_symbolic_build` without its reduction of a batch.

    Plain variables may be created while a step is traced, as on one device. Mirrored
    ones may not, so the model is built from the data's spec first.
    """

    def maybe_symbolic_build(self: Any, iterator: Any = None, data_batch: Any = None) -> None:
        if getattr(strategy, "transport", None) is not None:
            return
        data = data_batch if iterator is None else iterator._distributed_dataset.element_spec
        spec = tf.nest.map_structure(spec_of, data)
        has_own_step = type(self).train_step is not keras_trainer.TensorFlowTrainer.train_step
        if type(self).call is keras.Model.call and has_own_step:
            # Nothing to build from: the model is its parts, and its own steps say what becomes of a batch.
            return
        with strategy.scope():
            try:
                if any(isinstance(part, (tf.RaggedTensorSpec, tf.SparseTensorSpec)) for part in tf.nest.flatten(spec)):
                    compute_output_spec(functools.partial(_build_from, self, spec))
                self._symbolic_build(data_batch=spec)
            except Exception as error:
                # Keras takes a batch for (x, y, sample_weight); an own step may take it for anything else.
                if not has_own_step:
                    raise
                if not all(layer.built for layer in self._flatten_layers()):
                    raise _cannot_build(self, strategy.num_replicas_in_sync) from error
                if self.optimizer is not None and not self.optimizer.built:
                    self.optimizer.build(self.trainable_variables)

    return maybe_symbolic_build


def spec_of(part: Any) -> Any:
    """Returns the spec of a part of a batch, which may be a spec; None where Keras has None for it."""
    if part is None or isinstance(part, tf.OptionalSpec):
        return None
    if isinstance(part, (tf.TypeSpec, tf.RaggedTensor, tf.SparseTensor)):
        return part if isinstance(part, tf.TypeSpec) else tf.type_spec_from_value(part)
    return tf.TensorSpec.from_tensor(tf.convert_to_tensor(part))


def _build_from(model: Any, spec: Any) -> None:
    """Makes what a model lacks by calling it as its steps do. Keras' own way takes all data for dense ones."""
    placeholders = [
        None if part is None else tf.compat.v1.placeholder(part.dtype, part.shape)
        for part in tf.nest.flatten(spec, expand_composites=True)
    ]
    x, y, sample_weight = unpack_x_y_sample_weight(tf.nest.pack_sequence_as(spec, placeholders, expand_composites=True))
    outputs = model(x, training=False)
    for compiled, compute in (
        (model._compile_metrics, model.compute_metrics),
        (model._compile_loss, model.compute_loss),
    ):
        if compiled is not None and not compiled.built:
            compute(x, y, outputs, sample_weight)


def _cannot_build(model: Any, count: int) -> ScriptRefused:
    return ScriptRefused(
        "Several replicas of a process need a model's variables before its first step, and Keras cannot tell from the "
        "data what they are.",
        got=f"the model {model.name}, not built, whose train_step takes batches apart by itself",
        expected="a model that is built",
        fix=f"model(x) once, with some rows, before fit   or   paceline run --workers {count} ...",
    )


class _FlaggedIterable:
    """Makes iterators over a dataset that say that the worker has its own share."""

    def __init__(self, dataset: tf.data.Dataset) -> None:
        self._dataset = dataset
        self.element_spec = dataset.element_spec

    def __iter__(self) -> Iterator[Any]:
        iterator = iter(self._dataset)
        iterator.paceline_own_share = True
        return iterator


def _install_epoch_iterator(owner: Any) -> None:
    """Makes Keras' epoch iterator hand out the script's own dataset, not TensorFlow's distributed one."""
    base = owner.__mro__[1]
    base_reset = base.reset

    def init(self: Any, distribute_strategy: Any = None, *args: Any, **kwargs: Any) -> None:
        data = kwargs.pop("x", args[0] if args else None)
        own = is_own_share(data)
        base.__init__(self, dataset_behind(data), *args[1:], **kwargs)
        self._distribute_strategy = distribute_strategy
        dataset = self.data_adapter.get_tf_dataset()
        self._distributed_dataset = _FlaggedIterable(dataset) if own else dataset
        self._ends_together = own
        if own:
            self._num_batches = None
        groups.note_data(current_loop(), self)

    def reset(self: Any) -> None:
        base_reset(self)
        if self._ends_together:
            self._num_batches = None

    owner.__init__ = init
    owner.reset = reset


def _observed(name: str, original: Any, strategy: Any, observer: Observer) -> Any:
    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        adopt(self, strategy)
        if name == "predict" and is_own_share(args[0] if args else kwargs.get("x")):
            raise _own_share_predict()
        loop = None
        if name in ("fit", "evaluate"):
            epochs = kwargs.get("epochs", args[_EPOCHS_PLACE] if name == "fit" and len(args) > _EPOCHS_PLACE else 1)
            loop = Loop(Pace(observer.chief_says), epochs)
        with _alone(name, strategy), guard.keras_trains(), observer.running(name, self), running(loop), rows.in_words():
            return original(self, *args, **kwargs)

    return method


_threads: list[tuple[int, str]] = []


@contextlib.contextmanager
def _alone(name: str, strategy: Any) -> Iterator[None]:
    """Refuses that two threads train at once between workers: each worker would mix what they send in its own way."""
    here = threading.get_ident()
    other = next((what for thread, what in _threads if thread != here), "")
    if other and getattr(strategy, "transport", None) is not None and strategy.num_replicas_in_sync > 1:
        raise ScriptRefused(
            "Two threads train at once, and workers cannot tell whose tensors are whose.",
            got=f"model.{name}(...) in one thread while model.{other}(...) runs in another",
            expected="one after the other, where there are several workers",
            fix="thread.join() before the next call   or   paceline run --workers 1",
        )
    _threads.append((here, name))
    try:
        yield
    finally:
        _threads.remove((here, name))


def adopt(model: Any, strategy: Any) -> None:
    """Makes a model and its optimizers belong to the job's strategy, wherever they were made. Collective: no."""
    if strategy.num_replicas_in_sync > 1:
        _refuse_stateful(model)
    model._distribute_strategy = strategy
    optimizers = [getattr(model, "optimizer", None), *vars(model).values()]
    for optimizer in optimizers:
        if hasattr(optimizer, "_distribution_strategy") or hasattr(optimizer, "inner_optimizer"):
            gradients.adopt(optimizer, strategy)


def _refuse_stateful(model: Any) -> None:
    for layer in model._flatten_layers():
        if getattr(layer, "stateful", False) is True:
            raise ScriptRefused(
                "A stateful recurrent layer keeps a state for each row of a batch; replicas have some of the rows.",
                got=f"{type(layer).__name__}(stateful=True) {layer.name!r}",
                expected="stateful=False, or one replica",
                fix="paceline run --workers 1 ...",
            )


def _own_share_predict() -> ConfigurationRefused:
    return ConfigurationRefused(
        "predict cannot put rows in order that only one worker has.",
        got="a dataset from distribute_datasets_from_function",
        expected="a dataset or arrays that every worker has alike: each predicts a part, everybody gets all rows",
        fix="model.predict(dataset)   with the dataset as it is before it is distributed",
    )
