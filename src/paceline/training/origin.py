"""Whose code a function or an object is."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any, NamedTuple

import keras
import tensorflow as tf
from tensorflow.python.util import tf_stack

import paceline

_NOT_OF_SCRIPTS = ("keras.", "tensorflow.", "builtins.", "paceline.")


def is_of_a_script(part: Any) -> bool:
    """Returns whether a function, or an object's class, is not from Keras, TensorFlow or paceline."""
    module = getattr(part, "__module__", None) or type(part).__module__
    return not f"{module}.".startswith(_NOT_OF_SCRIPTS)


class Line(NamedTuple):
    """Where in a script something is called.

    Attributes:
        place: File and line.
        source: What is written there.
        calls: Names of the functions that it is in the middle of, the first one first.
    """

    place: str
    source: str
    calls: list[str]


_PACKAGES = {Path(str(package.__file__)).parent for package in (keras, tf, paceline)}


def line_of_script() -> Line | None:
    """Returns the innermost line of a script that this thread is in; one that AutoGraph has rewritten as it was."""
    calls: list[str] = []
    for frame in reversed(list(tf_stack.extract_stack())):
        if _PACKAGES.isdisjoint(Path(frame.filename).parents):
            source = linecache.getline(frame.filename, frame.lineno).strip()
            return Line(f"{Path(frame.filename).name}, line {frame.lineno}", source, calls[::-1])
        calls.append(frame.name)
    return None
