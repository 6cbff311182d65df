"""Whether XLA compiles a model's step: asked for, or where it is known to help."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import keras
import tensorflow as tf
from keras.src.backend.tensorflow.trainer import TensorFlowTrainer
from keras.src.trainers.compile_utils import CompileLoss, CompileMetrics
from keras.src.trainers.trainer import Trainer, model_supports_jit

from paceline.step_options import StepOptions
from paceline.training.origin import is_of_a_script
from paceline.training.pace import Loop

#: Compiling takes a second or two; a shorter training does not earn it back. An MLP's step gains about 1 ms.
_LEAST_STEPS = 1000

#: Place of `jit_compile` among the arguments of `compile` after `self` (Keras 3.10 to 3.15).
_JIT_PLACE = 7
_AUTO = "paceline_jit_auto"

#: Layers whose steps XLA makes faster on CPUs. Convolutions and recurrent layers are slower there than oneDNN's, see
#: docs/benchmarks.md; a layer that is not known may hold operations that XLA cannot compile.
_GAINING = (
    keras.layers.InputLayer,
    keras.layers.Dense,
    keras.layers.BatchNormalization,
    keras.layers.LayerNormalization,
    keras.layers.Normalization,
    keras.layers.Activation,
    keras.layers.ReLU,
    keras.layers.LeakyReLU,
    keras.layers.PReLU,
    keras.layers.ELU,
    keras.layers.Softmax,
    keras.layers.Dropout,
    keras.layers.GaussianNoise,
    keras.layers.Flatten,
    keras.layers.Reshape,
    keras.layers.Rescaling,
    keras.layers.Concatenate,
    keras.layers.Add,
    keras.layers.Subtract,
    keras.layers.Multiply,
    keras.layers.Average,
    keras.layers.Maximum,
    keras.layers.Minimum,
    keras.layers.Dot,
    keras.layers.ActivityRegularization,
)


class Choice(NamedTuple):
    """Whether XLA compiles a step, and why.

    Attributes:
        use: Whether it does.
        reason: In a person's words; empty where nothing was decided.
    """

    use: bool
    reason: str = ""


def choose(model: Any, options: StepOptions, loop: Loop | None) -> Choice:
    """Returns whether XLA compiles the model's step. The same on every worker. Collective: no.

    Args:
        model: A compiled model.
        options: What was asked for.
        loop: The `fit` that the step is for; None for a test step, and for single batches.
    """
    if model.run_eagerly:
        return Choice(False, "run_eagerly=True")
    if tf.config.functions_run_eagerly():
        return Choice(False, "tf.config.run_functions_eagerly(True)")
    if options.jit == "off":
        return Choice(False, "--jit off")
    if options.jit == "on":
        supported = bool(model_supports_jit(model))
        return Choice(supported, "--jit on" if supported else "it has layers that say they cannot be compiled")
    if model.jit_compile:
        return Choice(True, "jit_compile=True")
    if not getattr(model, _AUTO, True):
        return Choice(False, "jit_compile=False")
    if loop is None:
        return Choice(False)
    reason = _why_not(model, loop)
    return Choice(not reason, reason or "its layers are of the kinds that XLA makes faster")


def _why_not(model: Any, loop: Loop) -> str:
    """Returns why XLA is not chosen by itself; empty where it is."""
    if loop.steps is not None and loop.steps < _LEAST_STEPS:
        return f"a training of {loop.steps} steps does not earn back what compiling takes"
    if not loop.has_fixed_shapes:
        return "its data have no fixed shape, and XLA would compile for each"
    if type(model).train_step is not TensorFlowTrainer.train_step:
        return "its train_step is its own"
    if model.distribute_strategy.num_replicas_in_sync > 1 and not hasattr(model.distribute_strategy, "transport"):
        return "several replicas in one process"
    if not model_supports_jit(model):
        return "it has layers, or the script asked for settings, that say they cannot be compiled"
    strange = [part for part in _parts_of(model) if not _gains(part)]
    if strange:
        return f"{type(strange[0]).__name__} is not known to be faster with XLA"
    own = next((part for part in _everything_of(model) if is_of_a_script(part)), None)
    return f"{_name(own)} is the script's own" if own is not None else ""


def _parts_of(model: Any) -> list[Any]:
    """Returns the layers of a model, and the operations that stand between them in a Functional one."""
    layers = list(model._flatten_layers(include_self=True))
    operations = [op for layer in layers for op in getattr(layer, "operations", ())]
    return [part for part in [*layers, *operations] if part is not model]


def _everything_of(model: Any) -> list[Any]:
    """Returns what runs in a step: layers, losses, metrics, optimizer, and the functions and objects they hold."""
    optimizers = [model.optimizer, getattr(model.optimizer, "inner_optimizer", None)]
    compiled = [getattr(model, "_compile_loss", None), getattr(model, "_compile_metrics", None)]
    given = [
        getattr(part, name, None)
        for part in compiled
        for name in ("_user_loss", "_user_metrics", "_user_weighted_metrics")
    ]
    chosen = [value for value in tf.nest.flatten(given) if not isinstance(value, str)]
    owners = [model, *_parts_of(model), *model.metrics, *chosen, *optimizers]
    owners = [owner for owner in owners if owner is not None]
    held = [value for owner in owners if hasattr(owner, "__dict__") for value in vars(owner).values()]
    return [*owners, *(value for value in held if callable(value) and not isinstance(value, type))]


def _name(part: Any) -> str:
    return str(getattr(part, "__name__", type(part).__name__))


def _gains(layer: Any) -> bool:
    if isinstance(layer, (CompileLoss, CompileMetrics)) or type(layer) in {keras.Sequential, keras.Model}:
        return True
    if type(layer).__name__ == "Functional" and type(layer).__module__.startswith("keras."):
        return True
    return type(layer) in _GAINING and not getattr(layer, "synchronized", False)


def install() -> None:
    """Remembers whether a script left `jit_compile` to Keras, which resolves "auto" to False where there is a strategy.

    Once per worker, before the script.
    """
    original = Trainer.compile

    @functools.wraps(original)
    def compile_model(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = kwargs.get("jit_compile", args[_JIT_PLACE] if len(args) > _JIT_PLACE else "auto")
        result = original(self, *args, **kwargs)
        object.__setattr__(self, _AUTO, given == "auto")  # past Keras' tracking of attributes
        return result

    Trainer.compile = compile_model
