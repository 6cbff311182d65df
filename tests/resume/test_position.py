"""Data of every kind are gone on with after the batch that was read last, in another process: here, made anew."""

import itertools
import random

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras.src.backend.tensorflow.trainer import TFEpochIterator

from paceline.resume import randoms
from paceline.resume.position import Followed, mark_of

ROWS, BATCH = 24, 4
x = np.arange(ROWS, dtype="float32").reshape(ROWS, 1)
asked = []


class Rows(keras.utils.PyDataset):
    def __init__(self, draws=False):
        super().__init__()
        self.order, self.draws = np.arange(ROWS), draws

    def __len__(self):
        return ROWS // BATCH

    def __getitem__(self, index):
        asked.append(index)
        return x[self.order[index * BATCH :][:BATCH]] + (np.random.random() if self.draws else 0.0), x[:BATCH]  # noqa: NPY002

    def on_epoch_end(self):
        np.random.shuffle(self.order)  # noqa: NPY002


class Remembers:
    def __init__(self):
        self.generator = np.random.default_rng(4)

    def __call__(self):
        yield from x[self.generator.permutation(ROWS)]


def slices():
    return tf.data.Dataset.from_tensor_slices(x)


def generated():
    return tf.data.Dataset.from_generator(Remembers(), output_signature=tf.TensorSpec([1], tf.float32)).batch(BATCH)


def noisy():
    return slices().shuffle(ROWS).batch(BATCH).map(lambda a: a + tf.random.uniform([])).prefetch(2)


KINDS = {
    "arrays": lambda: {"x": x, "batch_size": BATCH, "shuffle": True},
    "chunks": lambda: {"x": x, "batch_size": BATCH, "shuffle": "batch"},
    "rows": lambda: {"x": Rows(), "shuffle": True},
    "noisy rows": lambda: {"x": Rows(draws=True), "shuffle": True},
    "tf.data": lambda: {"x": noisy()},
    "repeat": lambda: {"x": slices().shuffle(ROWS).repeat().batch(BATCH), "steps_per_epoch": 5},
    "unknown": lambda: {"x": slices().shuffle(ROWS).filter(lambda a: a[0] >= 0).batch(BATCH)},
    "generator": lambda: {"x": generated()},
}


def made(kind):
    """Returns the data as a fit of a script begins with them, and what follows them."""
    keras.utils.set_random_seed(5)
    epochs = TFEpochIterator(distribute_strategy=tf.distribute.get_strategy(), **KINDS[kind]())
    epochs._distributed_dataset = epochs.data_adapter.get_tf_dataset()
    followed = Followed(epochs)
    epochs._get_iterator = lambda: followed
    epochs.reset()
    return epochs, followed


def number(batch):
    return np.asarray(tf.nest.flatten(batch)[0]).tolist()


def epoch(epochs, followed, begin=0):
    """Yields the batches of an epoch, as Keras' loop reads them, from a place on."""
    with epochs.catch_stop_iteration():
        for step, *_, iterator in epochs._enumerate_iterator():
            if step >= begin:
                batch = next(iterator)
                followed.read += 1
                yield batch


@pytest.mark.filterwarnings("ignore:Your input ran out of data", "ignore:`shuffle=True` was passed")
@pytest.mark.parametrize("place", [0, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_the_rest_of_the_data_is_the_same(kind, place):
    epochs, followed = made(kind)
    list(epoch(epochs, followed))
    goes_on = epoch(epochs, followed)
    before = list(itertools.islice(goes_on, place))
    followed.seen_before = epochs._steps_seen - place
    saved = followed.capture(place, mark_of(before[-1]) if place else None)
    now = randoms.capture()
    rest = [number(batch) for batch in goes_on]
    later = [number(batch) for batch in epoch(epochs, followed)]

    again, follows = made(kind)
    random.random()  # noqa: S311  what else a script draws
    asked.clear()
    came = follows.come_back(saved, now, pytest.fail if kind != "generator" else lambda text: None)
    assert came.same is (True if place else None)
    assert came.draws == (kind == "noisy rows" and place > 0)
    if kind == "rows" and place:
        assert len(asked) <= ROWS // BATCH + 4  # one to find out, and what is read ahead: no batch twice
    assert [number(batch) for batch in epoch(again, follows, begin=place)] == rest
    assert [number(batch) for batch in epoch(again, follows)] == later
    assert (follows.made, follows.read) == (followed.made, followed.read)


@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_other_data_are_noticed():
    epochs, followed = made("arrays")
    batches = list(itertools.islice(epoch(epochs, followed), 2))
    followed.seen_before = 0
    saved = followed.capture(2, mark_of(batches[-1]) + 1)
    _, follows = made("arrays")
    assert follows.come_back(saved, randoms.capture(), pytest.fail).same is False
