"""Datasets that write files under one name can be read by several workers of one machine."""

from __future__ import annotations

import numpy as np
import pytest

FILES = ("text", "bytes", "tensor", "v1", "graph")


@pytest.fixture(scope="module")
def one(start):
    return start("cache_files.py", workers=1).ok()


@pytest.fixture(scope="module")
def two(start):
    return start("cache_files.py", workers=2).ok()


@pytest.fixture(scope="module")
def again(start, two):
    return start("cache_files.py", workers=2, folder=two.folder).ok()


@pytest.mark.support(feature="Dataset.cache with a file name", strategy="multi-worker", transport="mpi")
def test_each_worker_fills_a_file_of_its_own(one, two):
    names = {path.name for path in (two.folder / "files").iterdir()}
    assert names >= {f"{name}{own}.index" for name in FILES for own in ("", "-worker-1")}
    assert not [name for name in names if "lockfile" in name]
    assert not [path.name for path in (one.folder / "files").iterdir() if "worker" in path.name]
    assert two.same("rows") == one.facts[0]["rows"]
    for filling, reading in two.same("rows").values():
        assert filling == reading


def test_a_name_is_told_once(one, two):
    assert not one.notes("Dataset.cache")
    for name in ("text", "bytes", "tensor", "v1", "training"):
        (line,) = two.notes(f"'files/{name}'")
        assert "worker R has it with -worker-R at its end" in line
        assert "filled already" not in line
    assert len(two.notes("a tensor")) == 1


def test_training_is_one_devices(one, two, again):
    for result in (two, again):
        result.same("digest")
        # float32 sums in another order
        np.testing.assert_allclose(result.facts[0]["loss"], one.facts[0]["loss"], rtol=1e-5)
        np.testing.assert_allclose(result.facts[0]["weights"], one.facts[0]["weights"], rtol=1e-5, atol=1e-6)


def test_a_later_run_reads_what_an_earlier_one_has_filled(two, again):
    assert again.same("rows") == two.same("rows")
    assert not again.notes("filled already")


def test_a_file_that_one_process_has_filled_is_told(start, two, tmp_path):
    result = start("cache_files.py", workers=1, folder=tmp_path).ok()
    result = start("cache_files.py", workers=2, folder=tmp_path).ok()
    assert "worker 0's is filled already" in result.notes("'files/training'")[0]
    assert result.same("digest") == two.same("digest")


def test_what_names_no_file_fails_as_it_does_without_paceline(one, two):
    assert two.same("None") == one.facts[0]["None"]
    assert two.same("None")[0] == "ValueError"


def test_a_run_that_was_ended_leaves_locks_that_tensorflow_names(start, tmp_path):
    start("cache_files.py", "stops", workers=2, folder=tmp_path)
    result = start("cache_files.py", "stops", workers=2, folder=tmp_path)
    for worker, name in zip(result.facts, ("files/stopped_0", "files/stopped-worker-1_0"), strict=True):
        assert worker["concurrent"][0] == "AlreadyExistsError"
        assert f"'{name}.lockfile'" in worker["concurrent"][2]


def test_a_snapshot_is_the_same_on_all_workers(one, two, again):
    for result in (two, again):
        orders = result.same("snapshot")
        assert orders[0] == orders[1] == orders[2]
    assert two.same("snapshot") == one.facts[0]["snapshot"]


@pytest.mark.support(feature="Dataset.save", strategy="multi-worker", transport="mpi")
def test_a_saved_dataset_has_one_writer_and_shuffles_go_on_alike(one, two):
    for name in ("saved", "records", "afterwards"):
        assert two.same(name) == one.facts[0][name]
    assert two.same("writers") == one.facts[0]["writers"] == 1
    assert (two.folder / "files" / "saved-by-1").is_dir()
