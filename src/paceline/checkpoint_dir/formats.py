"""The files that a checkpoint can be converted to, told by their suffix."""

from __future__ import annotations

KERAS_SUFFIXES = (".weights.h5", ".keras")
ARRAY_SUFFIXES = (".weights.npz", ".weights.safetensors", ".npz", ".safetensors")
MODEL_PREFIX = "model/"
OPTIMIZER_PREFIX = "optimizer/"


def suffix_of(path: str) -> str:
    """Returns the suffix that says the form of a file, empty where it says none.

    >>> suffix_of("out/a.weights.npz"), suffix_of("a.npz"), suffix_of("a.txt")
    ('.weights.npz', '.npz', '')
    """
    return next((suffix for suffix in (*KERAS_SUFFIXES, *ARRAY_SUFFIXES) if path.endswith(suffix)), "")


def is_weights_only(path: str) -> bool:
    """Returns whether a file holds the model's variables only, under Keras' own paths.

    >>> is_weights_only("a.weights.npz"), is_weights_only("a.npz")
    (True, False)
    """
    return suffix_of(path).startswith(".weights")
