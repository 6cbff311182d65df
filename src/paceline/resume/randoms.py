"""The states of everything random that is not a variable of the model, read and set."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import tensorflow as tf
from keras.src.backend.common import global_state
from keras.src.random import seed_generator
from numpy.random import bit_generator
from tensorflow.python.eager import context
from tensorflow.python.ops import stateful_random_ops

#: What Python code of a pipeline may draw from, in threads of its own.
OF_PYTHON = ("python", "numpy")
#: Where Keras keeps the generator that it draws from where a script names none (3.10 to 3.15).
_OF_KERAS = "global_seed_generator"


def capture() -> dict[str, Any]:
    """Returns the states of Python's, NumPy's, TensorFlow's and Keras' own random numbers. Collective: no."""
    # Copies, as what is handed out must not change. With a seed: even `RandomState(0)` asks for entropy, as scripts do.
    python = random.Random()  # noqa: S311  no secret
    python.setstate(random.getstate())
    numpy = np.random.RandomState(np.random.MT19937(0))
    numpy.set_state(np.random.get_state())  # noqa: NPY002  the generator that scripts share
    states: dict[str, Any] = {"python": python, "numpy": numpy}
    entropy = getattr(bit_generator.randbits, "paceline_entropy", None)
    if entropy is not None:
        states["entropy"] = dict(entropy.bit_generator.state)
    eager = getattr(
        context.context(), "_rng", None
    )  # the seeds of operations that run eagerly; none without a global seed
    if eager is not None:
        states["eager"] = random.Random()  # noqa: S311
        states["eager"].setstate(eager.getstate())
    keras = global_state.get_global_attribute(_OF_KERAS)
    if keras is not None:
        states["keras"] = np.array(keras.state.value)
    generator = stateful_random_ops.global_generator
    if generator is not None:
        states["tensorflow"] = np.array(generator.state)
    return states


def restore(states: dict[str, Any], *, but: tuple[str, ...] = ()) -> None:
    """Sets what `capture` returned. Collective: no.

    Args:
        states: Of `capture`.
        but: Names of those that stay as they are.
    """
    states = {name: state for name, state in states.items() if name not in but}
    if "tensorflow" in states:
        tf.random.get_global_generator().state.assign(states["tensorflow"])
    if "keras" in states:
        seed_generator.global_seed_generator().state.assign(states["keras"])
    entropy = getattr(bit_generator.randbits, "paceline_entropy", None)
    if entropy is not None and "entropy" in states:
        entropy.bit_generator.state = states["entropy"]
    eager = getattr(context.context(), "_rng", None)
    if eager is not None and "eager" in states:
        eager.setstate(states["eager"].getstate())
    if "python" in states:
        random.setstate(states["python"].getstate())
    if "numpy" in states:
        np.random.set_state(states["numpy"].get_state())  # noqa: NPY002


def same_of_python(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Returns whether nothing was drawn from Python's and NumPy's own generators in between."""
    if one["python"].getstate() != other["python"].getstate():
        return False
    first, second = one["numpy"].get_state(legacy=False), other["numpy"].get_state(legacy=False)
    return bool(np.array_equal(first["state"]["key"], second["state"]["key"])) and (
        first["state"]["pos"], first["has_gauss"], first["gauss"]
    ) == (second["state"]["pos"], second["has_gauss"], second["gauss"])  # fmt: skip
