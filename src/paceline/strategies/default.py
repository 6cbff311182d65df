"""Makes the job's strategy the one that TensorFlow falls back to.

`tf.distribute.experimental_set_strategy` writes to the stack of the current default
graph: `keras.backend.clear_session()` drops it and other threads do not see it. The
fallback of an empty stack is the same everywhere, so that is where ours goes.
"""

from __future__ import annotations

from typing import Any

from tensorflow.python.distribute import distribute_lib

_ORIGINAL = distribute_lib._get_per_thread_mode
_ORIGINAL_HAS_STRATEGY = distribute_lib.has_strategy


def set_default(strategy: Any) -> None:
    """Makes `tf.distribute.get_strategy()` return `strategy` wherever no other is in scope.

    Called once per worker, before the script. Collective: no.
    """
    mode = distribute_lib._CrossReplicaThreadMode(strategy)

    def get_per_thread_mode() -> Any:
        current = _ORIGINAL()
        return mode if isinstance(current, distribute_lib._DefaultReplicaThreadMode) else current

    def in_scope() -> bool:
        return not isinstance(_ORIGINAL(), distribute_lib._DefaultReplicaThreadMode)

    distribute_lib._get_per_thread_mode = get_per_thread_mode
    # `scope()` asks this module's own name whether it is nested; falling back to us is not being nested.
    # The public `tf.distribute.has_strategy` is another reference and says True.
    distribute_lib.has_strategy = in_scope


def unset_default() -> None:
    """Undoes `set_default`."""
    distribute_lib._get_per_thread_mode = _ORIGINAL
    distribute_lib.has_strategy = _ORIGINAL_HAS_STRATEGY
