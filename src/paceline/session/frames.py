"""Leaves paceline's frames out of what TensorFlow says of an operation that failed.

"Detected at node ... defined at (most recent call last)" lists the frames that an operation
was made under, but for those of the files that TensorFlow's filter of the thread names. Each
thread's stack of filters begins with one that names none; here, with one that names ours.
"""

from __future__ import annotations

import runpy
import threading
from pathlib import Path
from typing import Any

import keras
from tensorflow.python.util import tf_stack

import paceline

#: What starts a script and the threads of replicas. Before Python 3.11 `runpy` is not frozen.
_STARTERS = ("<frozen runpy>", getattr(runpy, "__file__", ""), threading.__file__)


def install() -> None:
    """Puts the filter under those of all threads. Once per process, before the script. Costs nothing per step.

    Without effect where a TensorFlow has no such filters: they are private.
    Source: tensorflow/python/util/tf_stack.py, 2.19 to 2.21.
    """
    stacks: Any = getattr(tf_stack, "_source_filter_stacks", None)
    base = getattr(tf_stack, "SentinelFilter", None)
    if base is None or not hasattr(stacks, "default_factory"):
        return
    ours = _filter(base)
    stacks.default_factory = lambda: [ours]
    for stack in stacks.values():
        stack[0] = ours


def _filter(base: Any) -> Any:
    files = [*map(str, Path(paceline.__file__).parent.rglob("*.py")), *_STARTERS]
    named = {True: frozenset(files), False: frozenset[str]()}
    sets = {is_on: base().internal_set for is_on in named}
    for is_on, names in named.items():
        sets[is_on].update_to(set(names))

    class OurFiles(base):
        """Names our files, unless the script has Keras show all frames. Asked when an operation is made."""

        def __init__(self) -> None:
            pass

        @property
        def internal_set(self) -> Any:
            return sets[keras.config.is_traceback_filtering_enabled()]

        def get_filtered_filenames(self) -> frozenset[str]:
            return named[keras.config.is_traceback_filtering_enabled()]

    return OurFiles()
