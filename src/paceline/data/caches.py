"""Cache files of datasets: every worker reads all of the data, so each fills a file of its own.

Of the functions of `tf.data` that write files (2.19 to 2.21):

=================================== ====================================================================
`Dataset.cache(filename)`           TensorFlow lets one iterator fill a file, and refuses a second one by
                                    a lock: worker R gets a name of its own, here
`Dataset.snapshot(path)`            each iterator that writes has a folder of its own below `path`, and
                                    what is read is what was read before: left as it is
`Dataset.save(path)`,               the chief writes (`checkpoint/hooks.py`)
`data.experimental.TFRecordWriter`
=================================== ====================================================================
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.data.ops import cache_op


def install(rank: int, tell: Callable[[str], None]) -> None:
    """Gives this worker's dataset caches files of their own; the chief's keep their names. Collective: no.

    Once per worker of several, before the script. A name is the same in every run, so that a later run finds what
    an earlier one has filled, and never that of another worker: where a script shards its data, it holds other rows.

    Args:
        rank: This worker's rank.
        tell: Shows a person one line; the same on all workers.
    """
    if rank == 0:
        return
    original = cache_op._cache
    told: set[str] = set()

    @functools.wraps(original)
    def cache(input_dataset: Any, filename: Any, name: Any) -> Any:
        own = own_name(filename, rank)
        if own is not filename and _text(filename) not in told:
            told.add(_text(filename))
            tell(_explain(_text(filename), chief_only=_is_filled(filename) and not _is_filled(own)))
        return original(input_dataset, own, name)

    cache_op._cache = cache


def own_name(filename: Any, rank: int) -> Any:
    """Returns worker `rank`'s name for a cache file; what names no file is returned as it is.

    Args:
        filename: What a script gave to `Dataset.cache`: text, bytes or a scalar string tensor; empty: in memory.
        rank: This worker's rank, not 0.

    >>> own_name("cache/train", 1)
    'cache/train-worker-1'
    >>> own_name("", 1)
    ''
    """
    suffix = f"-worker-{rank}"
    if isinstance(filename, (str, bytes)):
        text = os.fsdecode(filename)
        return text + suffix if text else filename
    if not (tf.is_tensor(filename) and filename.dtype == tf.string):
        return filename  # TensorFlow refuses it: a path that is no text, a number
    if hasattr(filename, "numpy") and not filename.numpy():
        return filename
    return tf.where(tf.equal(filename, ""), filename, tf.strings.join([filename, suffix]))


def _explain(name: str, *, chief_only: bool) -> str:
    text = (
        f"Dataset.cache({name}): every worker reads all of the data and keeps a file of its own; "
        "worker 0 has this name, worker R has it with -worker-R at its end"
    )
    if chief_only:
        text += "; worker 0's is filled already: remove it if the data have changed, or are shuffled before the cache"
    return text


def _is_filled(filename: Any) -> bool:
    text = _plain(filename)
    return text is not None and bool(tf.io.gfile.exists(f"{text}.index"))  # as CacheDataset asks


def _text(filename: Any) -> str:
    text = _plain(filename)
    return "a tensor" if text is None else repr(text)


def _plain(filename: Any) -> str | None:
    """Returns a file name as text; None where it is known only when the dataset runs."""
    if not isinstance(filename, (str, bytes)):
        if not hasattr(filename, "numpy"):
            return None
        filename = filename.numpy()
    return os.fsdecode(filename)
