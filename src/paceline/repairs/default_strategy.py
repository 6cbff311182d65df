"""`clear_session()` and other threads lose a strategy that was set as the default."""

from __future__ import annotations

from paceline.repairs.repair import Repair
from paceline.repairs.stock import two_replicas


def witness() -> bool:
    """Returns whether another thread does not see the strategy that was set as the default."""
    import threading

    import tensorflow as tf

    strategy = two_replicas()
    tf.distribute.experimental_set_strategy(strategy)
    seen: list[bool] = []
    thread = threading.Thread(target=lambda: seen.append(tf.distribute.get_strategy() is strategy))
    thread.start()
    thread.join()
    tf.distribute.experimental_set_strategy(None)
    return not seen[0]


REPAIR = Repair(
    title="tf.distribute.experimental_set_strategy is not seen by other threads and is dropped by clear_session()",
    thread="tensorflow/python/distribute/distribute_lib.py (_get_per_thread_mode reads a stack of the default graph)",
    keras=("3.0", None),
    mended_in="paceline.strategies.default",
    witness=witness,
)
