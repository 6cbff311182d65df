"""Where a fit stands in its data, and how it comes back there.

What was tried (TensorFlow 2.19 to 2.21, Keras 3.10 to 3.15): a shuffle draws its seed from a generator of the dataset
when an iterator is *made*, whether it is read or not; random operations in a map, and Keras' own shuffle of arrays,
begin anew with each iterator; a Python generator starts when its iterator is first read. So as many iterators are made
again as had been made before, and the last one is read up to its place: by index for arrays and PyDataset, else by
`Dataset.skip`, which runs all of the pipeline. Whether that led to the same place is seen from the last batch.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import tensorflow as tf

from paceline.data.fingerprint import fingerprint
from paceline.data.share import leaves, total_rows, without_optionals
from paceline.resume import pipelines, randoms

#: What takes longer is told when it is over; beforehand, where Python has to read all again.
_TOLD_S = 2.0


class Came(NamedTuple):
    """How the data came back.

    Attributes:
        same: Whether the last batch is the one that was read before; None: nobody knows.
        draws: Whether Python code of the pipeline draws from the generators of Python or NumPy: they then stand where
            reading has left them.
    """

    same: bool | None
    draws: bool


class Followed:
    """One of the data of a fit: counts the iterators that Keras makes over it, and makes one that is in its middle.

    Args:
        epoch_iterator: Keras' own.

    Attributes:
        made: How many iterators were made.
        read: How many batches of the last one.
        earlier: Of those before the last one, `[how many, how many batches of each]`.
    """

    def __init__(self, epoch_iterator: Any) -> None:
        self.epoch_iterator = epoch_iterator
        self.adapter = epoch_iterator.data_adapter
        self.dataset = epoch_iterator._distributed_dataset
        self.kind = pipelines.kind_of(self.adapter)
        self.calls_python = self.kind != "arrays" and pipelines.calls_python(self.dataset)
        self.made, self.read = 0, 0
        self.earlier: list[list[int]] = []
        self._memory = pipelines.Memory(self.adapter)
        self._begin: dict[str, Any] = {}
        self._first: dict[str, Any] = {}
        self._waiting: Any = None
        self.seen_before = 0

    def __iter__(self) -> Iterator[Any]:
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            return iter(waiting)  # itself
        self._next()
        return iter(self.dataset)

    def _next(self) -> None:
        if self.made:
            if self.earlier and self.earlier[-1][1] == self.read:
                self.earlier[-1][0] += 1
            else:
                self.earlier.append([1, self.read])
        self.made += 1
        self.read = 0
        if self.calls_python:
            self._begin = {"randoms": randoms.capture(), "memory": self._memory.capture()}
            self._first = self._first or self._begin

    def capture(self, place: int, mark: int | None) -> dict[str, Any]:
        """Returns the position, plain values. Called between two groups of steps.

        Args:
            place: How many steps of the epoch were run.
            mark: The fingerprint of the last batch.
        """
        theirs = self.epoch_iterator
        goes_on = place > 0 or (theirs.steps_per_epoch is not None and theirs._current_iterator is not None)
        return {
            "kind": self.kind,
            "made": self.made,
            "read": self.read,
            "earlier": [list(run) for run in self.earlier],
            "goes_on": goes_on,
            "seen_before": self.seen_before if place else theirs._steps_seen,
            "num_batches": theirs._num_batches,
            "mark": mark,
            "begin": self._begin,
            "first": self._first,
            "memory": self._memory.capture() if self.calls_python else {},
        }

    def come_back(self, saved: dict[str, Any], now: dict[str, Any], tell: Callable[[str], None]) -> Came:
        """Makes the iterator that goes on, where Keras will ask for it.

        Args:
            saved: What `capture` returned.
            now: The states of random numbers at the checkpoint.
            tell: Shows a person one line.
        """
        began = time.monotonic()
        self._replay(saved, tell)
        self._waiting = self.epoch_iterator._current_iterator = None
        self.epoch_iterator._num_batches = saved["num_batches"]
        self.seen_before = saved["seen_before"]
        self._memory.restore(saved["memory"])
        self._first = saved["first"]
        randoms.restore(now)
        if not saved["goes_on"]:
            self.made, self.read, self.earlier = saved["made"], saved["read"], saved["earlier"]
            return Came(None, draws=False)
        self._to_begin(saved)
        draws = self._draws_from_index(saved)
        iterator, same = self._positioned(saved, by_index=not draws)
        if self.calls_python and self.kind != "PyDataset":
            draws = self._has_moved(saved)
        if self.calls_python and not draws:
            self._memory.restore(saved["memory"])
            randoms.restore(now)
        self.made, self.read, self.earlier = saved["made"], saved["read"], saved["earlier"]
        self._begin = saved["begin"]
        if self.epoch_iterator.steps_per_epoch is not None:
            self.epoch_iterator._current_iterator = iterator
            self.epoch_iterator._steps_seen = saved["seen_before"]
        else:
            self._waiting = iterator
        passed = time.monotonic() - began
        if passed > _TOLD_S:
            tell(f"the data ({self.kind}) were read again up to batch {saved['read']} of the epoch in {passed:.0f} s")
        return Came(same, draws)

    def make_again(self, count: int) -> None:
        """Makes iterators that nobody reads, as many as there were."""
        for _ in range(count):
            iter(self.dataset)

    def _replay(self, saved: dict[str, Any], tell: Callable[[str], None]) -> None:
        """Makes the iterators that came before; reads them where Python code may remember what it has read."""
        before = saved["made"] - bool(saved["goes_on"])
        runs = [list(run) for run in saved["earlier"]]
        if not saved["goes_on"] and saved["made"]:
            runs.append([1, saved["read"]])
        if not (self.calls_python and self.kind == "tf.data"):
            self.make_again(before)
            return
        batches = sum(count * read for count, read in runs)
        if batches:
            tell(f"the data call Python, which may remember: all {batches} batches of earlier epochs are read again")
            randoms.restore(saved["first"]["randoms"])
        for count, read in runs:
            for _ in range(count):
                iterator = iter(self.dataset)
                # Where nobody says how many steps an epoch has, it ends when there is nothing more to read.
                for _ in range(read + bool(read and self.epoch_iterator.steps_per_epoch is None)):
                    next(iterator, None)

    def _draws_from_index(self, saved: dict[str, Any]) -> bool:
        """Returns whether making a batch of a PyDataset draws random numbers, or moves it on: then all must be made.

        One is made to find out; only what Keras' own shuffle of the order has drawn does not count.
        """
        if self.kind != "PyDataset":
            return False
        iterator = iter(self.dataset)
        next(iterator, None)
        has_moved = self._has_moved(saved)
        del iterator  # waits for its threads
        self._to_begin(saved)
        return has_moved

    def _has_moved(self, saved: dict[str, Any]) -> bool:
        """Returns whether reading has drawn from Python's or NumPy's own generators, or changed a PyDataset."""
        expected = dict(saved["begin"]["randoms"])
        if self.kind == "PyDataset":
            count = getattr(self.adapter.py_dataset, "num_batches", None)
            if self.adapter.shuffle and self.adapter.enqueuer is None and count is not None:
                expected["python"] = _shuffled(expected["python"], count)
            if pipelines.mark_of(self._memory.capture()) != pipelines.mark_of(saved["begin"]["memory"]):
                return True
        return not randoms.same_of_python(expected, randoms.capture())

    def _positioned(self, saved: dict[str, Any], *, by_index: bool) -> tuple[Any, bool | None]:
        """Returns an iterator whose next batch is the one after those read, and whether the last one is as it was."""
        read, mark = saved["read"], saved["mark"]
        if not read:
            return iter(self.dataset), None
        quick = self._from(read - 1) if by_index else None
        if quick is not None:
            iterator = iter(quick)
            last = next(iterator, None)
            if mark is None or (last is not None and mark_of(last) == mark):
                return iterator, None if mark is None else True
            self._to_begin(saved)  # a batch is not what its index says
        own_share = getattr(self.dataset, "_dataset", None)  # the script's own share of a worker
        iterator = iter((own_share or self.dataset).skip(read - 1))
        if own_share is not None:
            iterator.paceline_own_share = True
        last = next(iterator, None)
        return iterator, None if mark is None else last is not None and mark_of(last) == mark

    def _to_begin(self, saved: dict[str, Any]) -> None:
        """Has Python code of the pipeline know what it knew when the iterator was made."""
        if self.calls_python:
            self._memory.restore(saved["begin"]["memory"])
            randoms.restore(saved["begin"]["randoms"])

    def _from(self, first: int) -> Any:
        """Returns a dataset that begins at a batch, made from indices; None where it cannot be."""
        if self.kind == "arrays":
            return _arrays_from(self.adapter, first)
        if self.kind == "PyDataset" and self.adapter.enqueuer is None:
            return _py_dataset_from(self.adapter, first)
        return None


def mark_of(batch: Any) -> int:
    """Returns the fingerprint of a batch; see `paceline.data.fingerprint`."""
    dense = without_optionals(batch)
    return int(fingerprint(leaves(dense), total_rows(dense)))


def _shuffled(generator: random.Random, count: int) -> random.Random:
    """Returns Python's generator as it is after Keras has shuffled the order of a PyDataset's batches."""
    after = random.Random()  # noqa: S311  no secret
    after.setstate(generator.getstate())
    after.shuffle(list(range(count)))
    return after


def _arrays_from(adapter: Any, first: int) -> Any:
    """Returns Keras' dataset of arrays, but for the batches before `first`: of these not even rows are gathered."""
    original = tf.data.Dataset.zip

    def from_first(datasets: Any, *more: Any, **options: Any) -> Any:
        indices, *others = datasets
        return original((indices.skip(first), *others), *more, **options)

    tf.data.Dataset.zip = staticmethod(from_first)
    try:
        return adapter.get_tf_dataset()
    finally:
        tf.data.Dataset.zip = staticmethod(original)


def _py_dataset_from(adapter: Any, first: int) -> Any:
    """Returns Keras' dataset of a PyDataset, but for the batches before `first`, which are not asked for."""

    def batches() -> Iterator[Any]:
        count = adapter.py_dataset.num_batches
        indices: Any = itertools.count(first)
        if count is not None:
            indices = list(range(count))
            if adapter.shuffle:
                random.shuffle(indices)
            indices = indices[first:]
        for index in indices:
            yield adapter._standardize_batch(adapter.py_dataset[index])

    adapter._get_iterator = batches
    try:
        return adapter.get_tf_dataset()
    finally:
        del adapter._get_iterator
