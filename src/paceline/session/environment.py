"""What a script gets when it sets a variable that was read before its first line: a word about it, or a refusal.

Scripts set them above `import tensorflow`. Under paceline TensorFlow, Keras and NumPy have started by then, and
`paceline run` has options for what they choose. Children of the script find the variables as it left them.

Not told, because they are read when they are first needed (TensorFlow 2.19 to 2.21): `XLA_FLAGS`, `TF_XLA_FLAGS`,
`TF_DETERMINISTIC_OPS`; because they only choose what is logged: `TF_CPP_MIN_LOG_LEVEL` and its like.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from paceline.worker.environment import KERAS_VARIABLES, POOL_VARIABLES, check_keras

#: Read when a library starts, so that a later value is without effect.
READ_AT_START = (
    *("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", *POOL_VARIABLES),
    *("TF_ENABLE_ONEDNN_OPTS", "TF_GPU_ALLOCATOR", "TF_GPU_THREAD_MODE", "TF_GPU_THREAD_COUNT", "KERAS_HOME"),
)
_DEVICES = "CUDA_VISIBLE_DEVICES"
_NO_GPU = {"", "-1"}


def install(tell: Callable[[str], None]) -> None:
    """Watches what is set in `os.environ` from now on. Once per worker, before the script. Collective: no.

    Args:
        tell: Shows a person one line, the first time that it is said.
    """
    kind, in_effect, pid = type(os.environ), dict(os.environ), os.getpid()
    sees_gpus = bool(tf.config.list_logical_devices("GPU"))
    original = kind.__setitem__

    @functools.wraps(original)
    def set_item(self: Any, key: Any, value: Any) -> None:
        original(self, key, value)
        if self is os.environ and os.getpid() == pid:
            if key in KERAS_VARIABLES:
                check_keras(key, value, "os.environ of the script")
            elif text := explain(in_effect, key, value, sees_gpus=sees_gpus):
                tell(text)

    kind.__setitem__ = set_item  # type: ignore[method-assign]  # a hook is one


def explain(in_effect: Mapping[str, str], name: str, value: str, *, sees_gpus: bool = False) -> str:
    """Returns what is said of a variable that comes too late; empty if it does not, or is so already.

    Args:
        in_effect: The variables with which the worker has started.
        name: What the script sets.
        value: To what.
        sees_gpus: Whether TensorFlow has started with GPUs.

    >>> explain({"OMP_NUM_THREADS": "1"}, "OMP_NUM_THREADS", "1")
    ''
    """
    now = in_effect.get(name)
    if value == now:
        return ""
    said = f"os.environ[{name!r}] = {value!r} is without effect: TensorFlow has started"
    if name == _DEVICES:
        is_so = not sees_gpus and (value in _NO_GPU or now is None)
        return "" if is_so else f'{said}; paceline run --devices 0,1 chooses GPUs, --devices "" hides them'
    return f"{said}; paceline run --env {name}={value} sets it" if name in READ_AT_START else ""
