"""A store writes whole checkpoints, keeps the right ones, and says what cannot be written."""

import errno
import json
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from paceline.checkpoint import places
from paceline.checkpoint.store import CheckpointStore
from paceline.errors import CheckpointDamaged, CheckpointNotWritten


def test_what_was_written_is_read(store, arrays_of, assert_same):
    written = store.write(1200, arrays_of(), {"fit": 1, "words": "ä"})
    assert written.path == store.path_of(1200) and written.bytes > 0
    stored = store.read(1200)
    assert_same(stored.tensors, arrays_of())
    assert (stored.step, stored.meta, stored.num_workers) == (1200, {"fit": 1, "words": "ä"}, 2)
    assert sorted(os.listdir(store.path_of(1200))) == ["manifest.json", "state-0-of-1.safetensors"]


def test_nothing_is_there_before_something_is_written(store):
    assert (store.steps(), store.newest(), store.fits(), store.read_run()) == ([], None, [], None)
    assert not os.path.exists(store.path)
    with pytest.raises(CheckpointDamaged, match="cannot be read"):
        store.read(1)


def test_the_newest_stay(store, small):
    for step in (10, 20, 30, 40, 50):
        store.write(step, small, {})
    assert store.steps() == [30, 40, 50]
    assert (store.newest(), store.newest(before=50), store.newest(before=30)) == (50, 40, None)
    assert sorted(os.listdir(store.path)) == [f"step-{step:012d}" for step in (30, 40, 50)]


def test_one_in_every_so_many_seconds_stays(tmp_path, monkeypatch, small):
    now = [1000.0]
    monkeypatch.setattr("paceline.checkpoint.store.time.time", lambda: now[0])
    for step in range(1, 11):
        now[0] += 10
        # A new store each time: what stays must not depend on what this process remembers.
        CheckpointStore(tmp_path, keep=1, keep_every_s=30).write(step, small, {})
    assert CheckpointStore(tmp_path).steps() == [1, 4, 7, 10]


def test_what_lies_beyond_the_step_written_is_not_removed(tmp_path, small):
    store = CheckpointStore(tmp_path, keep=1)
    store.write(500, small, {})
    store.write(100, small, {})
    assert store.steps() == [100, 500]


def test_one_of_the_same_step_is_replaced(store, small):
    store.write(5, small, {"n": 1})
    store.write(5, {"other": np.ones(3)}, {"n": 2})
    assert store.read(5).meta == {"n": 2}
    assert set(store.read(5).tensors) == {"other"}
    assert os.listdir(store.path) == ["step-000000000005"]


def test_names_are_exchanged_in_one_step_where_that_is_possible(store, small, monkeypatch):
    exchanged = []
    real = places.exchange
    monkeypatch.setattr(places, "exchange", lambda one, other: exchanged.append(real(one, other)) or exchanged[-1])
    store.write_fit(5, small, {"n": 1})
    store.write_fit(5, small, {"n": 2})
    if exchanged != [True]:
        pytest.skip("this file system cannot")
    assert store.read_fit(5).meta == {"n": 2} and os.listdir(store.path) == ["fits"]


def test_a_crash_while_one_is_replaced_loses_neither(store, told, monkeypatch, small):
    """Where a file system cannot exchange two names, there is an instant at which nothing has this one."""
    store.write(5, small, {"n": 1})
    monkeypatch.setattr(places, "exchange", lambda one, other: False)
    real, calls = os.rename, []

    def rename(source, target):
        calls.append(source)
        if len(calls) == 2:
            raise KeyboardInterrupt  # as if the process ended here
        real(source, target)

    monkeypatch.setattr(places.os, "rename", rename)
    with pytest.raises(KeyboardInterrupt):
        store.write(5, small, {"n": 2})
    monkeypatch.setattr(places.os, "rename", real)
    assert store.steps() == []
    store.tidy()
    assert store.read(5).meta == {"n": 1}
    assert os.listdir(store.path) == ["step-000000000005"]
    assert "had not finished" in told[0]


def test_the_ends_of_fits_stay(store, small):
    for fit in range(1, 6):
        store.write_fit(fit, small, {"history": {"loss": [fit]}})
    assert store.fits() == [1, 2, 3, 4, 5]
    assert store.steps() == []
    assert store.read_fit(3).meta == {"history": {"loss": [3]}}
    store.write_fit(3, small, {"again": True})
    assert store.read_fit(3).meta == {"again": True}


def test_run_json_is_replaced(store):
    store.write_run({"seed": 1})
    store.write_run({"seed": 2})
    assert store.read_run() == {"schema": 1, "seed": 2}
    assert os.listdir(store.path) == ["run.json"]


def test_leftovers_of_dead_writers_are_removed_and_told(store, told, small):
    store.write(5, small, {})
    for name in (".tmp-step-000000000006-abc", ".tmp-run.json-abc"):
        os.mkdir(f"{store.path}/{name}")
        open(f"{store.path}/{name}/state-0-of-1.safetensors", "w").close()
    open(f"{store.path}/notes.txt", "w").close()
    store.tidy()
    assert sorted(os.listdir(store.path)) == ["notes.txt", "step-000000000005"]
    assert len(told) == 1 and ".tmp-step-000000000006-abc" in told[0]


def test_what_is_damaged_is_set_aside(store, small):
    store.write(5, small, {})
    store.set_aside(5)
    assert store.steps() == [] and os.listdir(store.path) == ["damaged-step-000000000005"]
    store.set_aside(6)


@pytest.mark.parametrize("meta", [{"a": object()}, {"a": {1, 2}}])
def test_meta_that_json_cannot_hold_is_refused(store, meta, small):
    with pytest.raises(CheckpointNotWritten, match="meta is no JSON"):
        store.write(5, small, meta)
    assert os.listdir(store.path) == []


def test_a_text_is_refused_by_name_and_leaves_nothing(store):
    with pytest.raises(CheckpointNotWritten, match="model/words"):
        store.write(5, {"model/words": np.array(["a"])}, {})
    assert store.steps() == []


def test_a_disk_that_fails_at_the_end_leaves_nothing(store, monkeypatch, small):
    """fsync is where a disk says that what it took is lost."""
    store.write(5, small, {})

    def fsync(descriptor):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(places.os, "fsync", fsync)
    with pytest.raises(CheckpointNotWritten, match="Input/output error") as caught:
        store.write(6, small, {})
    assert "dmesg" in caught.value.fix
    assert os.listdir(store.path) == ["step-000000000005"]


def test_a_file_in_the_way_is_named(tmp_path, small):
    (tmp_path / "ckpt").write_text("")
    with pytest.raises(CheckpointNotWritten, match="Not a directory"):
        CheckpointStore(tmp_path / "ckpt").write(5, small, {})


def test_a_directory_that_vanishes_is_made_again(store, small):
    store.write(5, small, {})
    os.rename(store.path, store.path + "-away")
    store.write(6, small, {})
    assert store.steps() == [6]


class Shares:
    """Workers that write their shares at the same time."""

    def __init__(self, path, count):
        self.count = count
        self.barrier = threading.Barrier(count, timeout=20)
        self.stores = [CheckpointStore(path, num_workers=count) for _ in range(count)]

    def write(self, step, tensors):
        """Returns what each worker got: what was written, or why not."""
        results = [None] * self.count

        def work(index):
            try:
                results[index] = self.stores[index].write(
                    step, tensors[index], {"of": index}, (index, self.count), self.barrier.wait
                )
            except CheckpointNotWritten as error:
                results[index] = error

        threads = [threading.Thread(target=work, args=(index,)) for index in range(self.count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        return results


def test_shares_become_one_checkpoint(tmp_path, assert_same):
    shares = Shares(tmp_path, 3)
    tensors = [{f"w{index}": np.full(5, index)} for index in range(3)]
    shares.write(7, tensors)
    stored = shares.stores[1].read(7)
    assert_same(stored.tensors, {name: array for each in tensors for name, array in each.items()})
    assert (stored.meta, stored.num_workers) == ({"of": 0}, 3)
    names = [f"state-{index}-of-3.safetensors" for index in range(3)]
    assert sorted(os.listdir(shares.stores[0].path_of(7))) == ["manifest.json", *names]
    assert os.listdir(tmp_path) == ["step-000000000007"]


@pytest.mark.parametrize("failing", [0, 1])
def test_a_share_that_is_missing_leaves_no_checkpoint(tmp_path, failing):
    shares = Shares(tmp_path, 2)
    shares.write(7, [{"a": np.ones(2)}, {"b": np.ones(2)}])
    tensors = [{"a": np.ones(2)}, {"b": np.ones(2)}]
    tensors[failing] = {"words": np.array(["x"])}
    results = shares.write(8, tensors)
    assert isinstance(results[0], CheckpointNotWritten)
    assert shares.stores[0].steps() == [7]
    shares.stores[0].tidy()
    assert os.listdir(tmp_path) == ["step-000000000007"]
    # And the same step can be written afterwards.
    shares.write(8, [{"a": np.ones(2)}, {"b": np.ones(2)}])
    assert shares.stores[0].steps() == [7, 8]


def test_the_same_step_is_written_again_at_once(tmp_path):
    """No worker begins with the second one while the chief still completes the first."""
    shares = Shares(tmp_path, 3)

    def twice(index):
        for value in range(5):
            shares.stores[index].write(7, {f"w{index}": np.full(9, value)}, {}, (index, 3), shares.barrier.wait)

    threads = [threading.Thread(target=twice, args=(index,)) for index in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert all((array == 4).all() for array in shares.stores[0].read(7).tensors.values())


def test_several_shares_need_a_barrier(store, small):
    with pytest.raises(ValueError, match="barrier"):
        store.write(1, small, {}, (0, 2))


def test_manifests_of_a_newer_paceline_are_refused_by_name(store, small):
    store.write(5, small, {})
    path = Path(store.path_of(5)) / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": 99}))
    with pytest.raises(CheckpointDamaged, match="newer paceline"):
        store.read(5)
