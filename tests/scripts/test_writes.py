"""Files are written once, by the chief, and can be read at once on every worker."""

from __future__ import annotations

import csv
import importlib.util
import socket

import pytest


@pytest.fixture(scope="module")
def writes(start):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    return start("writes.py", str(port), workers=2).ok()


@pytest.mark.support(feature="callbacks that write or decide", strategy="multi-worker", transport="mpi")
def test_callbacks_see_and_do_the_same(writes):
    logs = writes.same("logs")
    assert set(logs) >= {"loss", "accuracy", "val_loss", "val_accuracy", "learning_rate"}
    assert len(logs["loss"]) == 3
    writes.same("weights")
    writes.same("rate")
    writes.same("loss")


@pytest.mark.support(feature="ModelCheckpoint", strategy="multi-worker", transport="mpi")
def test_a_checkpoint_is_read_back_by_the_next_callback(writes):
    seen = writes.same("seen")
    assert seen["lambda"] == 3
    assert seen["read"][-1] == writes.same("weights") == writes.same("best")
    assert sorted(path.name for path in (writes.folder / "out").iterdir()) == [
        "best.keras", "deep", "epoch-1.keras", "epoch-2.keras", "epoch-3.keras",
    ]  # fmt: skip
    assert (writes.folder / "out" / "deep" / "best.weights.h5").is_file()


def test_a_log_holds_each_epoch_once(writes):
    with (writes.folder / "log.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["epoch"] for row in rows] == ["0", "1", "2"]
    assert [float(row["loss"]) for row in rows] == pytest.approx(writes.same("logs")["loss"])


@pytest.mark.skipif(importlib.util.find_spec("tensorboard") is None, reason="tensorboard is not installed")
def test_tensorboard_has_one_writer(writes):
    for part in ("train", "validation"):
        assert len(list((writes.folder / "board" / part).glob("events*"))) == 1


@pytest.mark.support(feature="model.save, save_weights, export", strategy="multi-worker", transport="mpi")
def test_what_a_script_saves_is_read_back_at_once(writes):
    read = writes.same("read")
    assert {read[name] for name in ("model.keras", "again.keras", "tf-keras.keras")} == {writes.same("weights")}
    assert read["exported"] == writes.same("served")
    assert (writes.folder / "model.h5").is_file()
    assert (writes.folder / "script.weights.h5").is_file()


def test_each_file_is_written_once(writes):
    chief, other = (worker["saves"] for worker in writes.facts)
    # best.keras 3, epoch-N 3, three names of the script, chief-only, tutorial, in-callback 3
    assert chief == 14
    # the two paths that no other worker writes: the tutorial's and only-another.keras
    assert other == 2


@pytest.mark.support(feature="tf.train.Checkpoint and CheckpointManager", strategy="multi-worker", transport="mpi")
def test_checkpoints_of_tensorflow(writes):
    assert writes.same("paths") == [
        "ck/plain-1", "ck/plain-2", "ck/written", "managed/ckpt-2", "managed/ckpt-3", "managed/ckpt-4",
    ]  # fmt: skip
    assert writes.same("after_first") == 1.0
    assert writes.same("restored") == 7.0
    assert writes.same("kept") == ["managed/ckpt-3", "managed/ckpt-4"]
    assert writes.same("latest") == ["managed/ckpt-4"] * 2
    assert writes.same("skipped") == ["skipping/ckpt-5", None]
    assert writes.same("counter") == 4


@pytest.mark.support(feature="writing on the chief only", strategy="multi-worker", transport="mpi")
def test_the_ways_to_write_on_one_worker(writes):
    assert (writes.folder / "chief-only.keras").is_file()
    assert (writes.folder / "task.weights.h5").is_file()
    assert writes.same("tutorial") == writes.same("wanted")
    assert (writes.folder / "tutorial" / "model.keras").is_file()
    assert (writes.folder / "tutorial" / "workertemp_1" / "model.keras").is_file()
    assert writes.facts[1]["only_another"]
    assert (writes.folder / "in-callback.keras").is_file()
    assert (writes.folder / "other-in-callback.weights.h5").is_file()
    writes.same("end")


def test_a_worker_reads_its_logs_alone(writes):
    assert writes.facts[1]["read_alone"][0] > 0


@pytest.mark.support(feature="keras.utils.get_file", strategy="multi-worker", transport="mpi")
def test_one_download_for_a_host(writes):
    assert writes.same("downloaded") == ["served", "served"]
    assert writes.facts[0]["requests"] == ["/served.txt"]
    assert writes.same("one_function") == [True] * 3
