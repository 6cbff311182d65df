"""A directory that only `tf.io.gfile` can read: TensorFlow's file system in memory stands in for an object store."""

import itertools

import numpy as np
import pytest

from paceline.checkpoint.store import CheckpointStore
from paceline.checkpoint_dir.examine import Depth, examine
from paceline.errors import CheckpointDamaged, CheckpointNotWritten

_NUMBERS = itertools.count()


@pytest.fixture
def url():
    return f"ram://bucket/run-{next(_NUMBERS)}"


@pytest.fixture
def store(url, told):
    return CheckpointStore(url, keep=2, tell=told.append)


def test_a_whole_life(store, told, arrays_of, assert_same):
    assert (store.steps(), store.newest(), store.fits(), store.read_run()) == ([], None, [], None)
    for step in (1, 2, 3):
        store.write(step, arrays_of(), {"step": step})
    store.write(3, arrays_of(), {"again": True})
    store.write_fit(1, {}, {"fit": 1})
    store.write_run({"seed": 1})
    store.write_run({"seed": 2})
    assert (store.steps(), store.fits(), store.read_run()) == ([2, 3], [1], {"schema": 1, "seed": 2})
    assert store.read(3).meta == {"again": True} and store.read_fit(1).meta == {"fit": 1}
    assert_same(store.read(2).tensors, arrays_of())
    store.set_aside(3)
    assert store.steps() == [2]
    store.tidy()
    assert told == []


def test_without_its_manifest_it_is_unfinished_and_removed_at_the_next_start(store, told, small):
    store.write(1, small, {})
    store.write(2, small, {})
    store._place.remove("step-000000000002/manifest.json")
    assert store.steps() == [1]
    assert [entry.state for entry in examine(store._place).entries] == ["complete", "unfinished"]
    store.tidy()
    assert [entry.state for entry in examine(store._place).entries] == ["complete"]
    assert "step-000000000002" in told[0]


def test_what_is_damaged_is_refused_and_seen(store, small):
    store.write(1, small, {})
    name = "step-000000000001/state-0-of-1.safetensors"
    content = bytearray(store._place.read(name))
    content[-1] ^= 1
    sink = store._place.create(name)
    sink.write(memoryview(content))
    sink.finish()
    with pytest.raises(CheckpointDamaged, match="sha256"):
        store.read(1)
    [entry] = examine(store._place, depth=Depth.SUMS).entries
    assert entry.state == "damaged" and "sha256" in entry.fault
    [entry] = examine(store._place, depth=Depth.HEADERS).entries
    assert entry.is_good and entry.tensors["model/bias"]["shape"] == [7]


def test_a_file_system_that_is_not_there_is_told_in_our_words(small):
    with pytest.raises(CheckpointNotWritten, match="nowhere://"):
        CheckpointStore("nowhere://bucket/run").write(1, small, {})


def test_a_local_url_is_a_path(tmp_path, small):
    CheckpointStore(f"file://{tmp_path}/ckpt").write(1, {"a": np.ones(1)}, {})
    assert CheckpointStore(tmp_path / "ckpt").steps() == [1]
