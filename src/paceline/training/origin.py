"""Whose code a function or an object is."""

from __future__ import annotations

from typing import Any

_NOT_OF_SCRIPTS = ("keras.", "tensorflow.", "builtins.", "paceline.")


def is_of_a_script(part: Any) -> bool:
    """Returns whether a function, or an object's class, is not from Keras, TensorFlow or paceline."""
    module = getattr(part, "__module__", None) or type(part).__module__
    return not f"{module}.".startswith(_NOT_OF_SCRIPTS)
