"""`paceline checkpoint`: what it prints, and the exit code it ends with."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from paceline.checkpoint.store import CheckpointStore
from paceline.cli import checkpoint_text
from paceline.errors import EXIT_DAMAGED, EXIT_REFUSED, EXIT_USAGE

STATE = "state-0-of-1.safetensors"
TENSORS = {"model/d/kernel": np.ones((10, 20), np.float32), "optimizer/iterations": np.array(7)}


@pytest.fixture
def folder(tmp_path):
    store = CheckpointStore(tmp_path / "ckpt", num_workers=2)
    for step in (100, 200, 300):
        store.write(step, TENSORS, {"fit": 1, "long": "x" * 500})
    store.write_fit(1, TENSORS, {})
    store.write_run({"script": {"target": "train.py", "argv": ["--epochs", "a b"]}, "state": "running", "created": 1.0})
    return tmp_path / "ckpt"


def damage(folder, step, size=100):
    os.truncate(folder / f"step-{step:012d}" / STATE, size)


def rows(text):
    return {line.split()[0]: line for line in text.splitlines() if line.strip()}


def test_ls_shows_all_and_what_is_wrong(call, folder):
    damage(folder, 200)
    (folder / ".tmp-step-000000000400-ab").mkdir()
    (folder / "step-000000000500").mkdir()
    (folder / "notes.txt").write_text("")
    result = call("checkpoint", "ls", str(folder))
    assert result.code == 0, result.err
    table = rows(result.out)
    assert "train.py --epochs 'a b', running" in result.out
    assert table["step-000000000100"].endswith("complete") and "1.0 kB" in table["step-000000000100"]
    assert "damaged: state-0-of-1.safetensors: it has 100 bytes instead of" in table["step-000000000200"]
    assert "unfinished: it has no manifest" in table["step-000000000500"]
    assert "left by a writer that ended" in table[".tmp-step-000000000400-ab"]
    assert table["fits/000001"].endswith("complete")
    assert "not of paceline: notes.txt" in result.out


def test_ls_as_json(call, folder):
    damage(folder, 200)
    value = json.loads(call("checkpoint", "ls", "--json", str(folder)).out)
    assert value["root"] == str(folder) and value["run"]["state"] == "running"
    assert [(entry["number"], entry["state"]) for entry in value["entries"]] == [
        (100, "complete"),
        (200, "damaged"),
        (300, "complete"),
        (1, "complete"),
    ]


def test_a_run_directory_and_a_single_checkpoint_are_understood(call, folder, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    (run / "plan.json").write_text("{}")
    folder.rename(run / "checkpoints")
    assert "step-000000000300" in call("checkpoint", "ls", str(run)).out
    for name, one in (("step-000000000100", "step-000000000100"), ("fits/000001", "fits/000001")):
        result = call("checkpoint", "verify", str(run / "checkpoints" / name))
        assert result.code == 0 and one in result.out and "1 good, 0 not" in result.out


def test_show_the_newest_that_is_whole(call, folder):
    damage(folder, 300)
    result = call("checkpoint", "show", str(folder))
    assert result.code == 0, result.err
    assert f"{folder}/step-000000000200" in result.out
    table = rows(result.out)
    assert table["model/d/kernel"].split()[1:] == ["float32", "10x20", "800", "B"]
    assert table["optimizer/iterations"].split()[1:] == ["int64", "scalar", "8", "B"]
    assert "fit: 1" in result.out and max(map(len, result.out.splitlines())) < 150


def test_show_one_as_json(call, folder):
    value = json.loads(call("checkpoint", "show", "--json", str(folder / "step-000000000100")).out)
    assert value["number"] == 100 and value["meta"]["long"] == "x" * 500
    assert value["tensors"]["model/d/kernel"]["shape"] == [10, 20]
    assert value["files"][STATE]["bytes"] == value["num_bytes"]


def test_show_of_a_damaged_one_is_refused(call, folder):
    damage(folder, 300)
    result = call("checkpoint", "show", str(folder / "step-000000000300"))
    assert result.code == EXIT_REFUSED and "damaged" in result.err


def test_verify_reads_every_byte(call, folder):
    result = call("checkpoint", "verify", str(folder))
    assert result.code == 0 and "4 good, 0 not" in result.out
    path = folder / "step-000000000200" / STATE
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert rows(call("checkpoint", "ls", str(folder)).out)["step-000000000200"].endswith("complete")
    result = call("checkpoint", "verify", str(folder))
    assert result.code == EXIT_DAMAGED
    assert "damaged   step-000000000200: state-0-of-1.safetensors: its content is not" in result.out
    assert "3 good, 1 not" in result.out
    assert call("checkpoint", "verify", str(folder / "step-000000000300")).code == 0
    value = json.loads(call("checkpoint", "verify", "--json", str(folder)).out)
    assert not value["ok"] and [it["state"] for it in value["checkpoints"]].count("damaged") == 1


def test_verify_looks_at_run_json_too(call, folder):
    (folder / "run.json").write_text("{")
    result = call("checkpoint", "verify", str(folder))
    assert result.code == EXIT_DAMAGED and "run.json" in result.out


def test_a_newer_paceline_is_named(call, folder):
    path = folder / "step-000000000300" / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema": 2, "paceline": "9.9"}))
    assert "newer: schema 2" in rows(call("checkpoint", "ls", str(folder)).out)["step-000000000300"]
    assert call("checkpoint", "verify", str(folder)).code == EXIT_DAMAGED


def test_an_empty_directory(call, tmp_path):
    assert "no checkpoint yet" in call("checkpoint", "ls", str(tmp_path)).out
    for command in ("show", "verify"):
        result = call("checkpoint", command, str(tmp_path))
        assert result.code == EXIT_REFUSED, command


@pytest.mark.parametrize("command", ["ls", "show", "verify"])
def test_what_is_no_checkpoint_directory_is_refused(call, tmp_path, folder, command):
    (tmp_path / "train.py").write_text("")
    foreign, missing, file = tmp_path / "foreign", tmp_path / "missing" / "deep", tmp_path / "train.py"
    foreign.mkdir()
    (foreign / "model.ckpt.index").write_text("")
    for path, words in ((foreign, "holds model.ckpt.index"), (missing, f"ls {tmp_path}"), (file, "is a file")):
        result = call("checkpoint", command, str(path))
        assert result.code == EXIT_REFUSED and words in result.err, result.err
    result = call("checkpoint", command, str(folder / "step-000000000999"))
    assert result.code == EXIT_REFUSED and "no such checkpoint" in result.err


def test_a_directory_that_may_not_be_read(call, folder):
    is_root = os.geteuid() == 0
    os.chmod(folder, 0)
    if is_root:  # to whom nothing is forbidden
        os.seteuid(65534)
    try:
        result = call("checkpoint", "ls", str(folder))
    finally:
        if is_root:
            os.seteuid(0)
        os.chmod(folder, 0o700)
    assert result.code == EXIT_REFUSED and "Permission denied" in result.err


def test_convert(call, folder, tmp_path):
    out = tmp_path / "out.weights.npz"
    result = call("checkpoint", "convert", str(folder), str(out))
    assert result.code == 0, result.err
    assert "step-000000000300: 1 tensors" in result.out
    assert np.load(out)["d/kernel"].shape == (10, 20)
    assert call("checkpoint", "convert", str(folder), str(out)).code == EXIT_REFUSED
    assert call("checkpoint", "convert", str(folder / "step-000000000100"), str(out), "--force").code == 0


def test_convert_refuses_before_it_begins(call, folder, tmp_path):
    assert call("checkpoint", "convert", str(folder), str(tmp_path / "out.bin")).code == EXIT_USAGE
    result = call("checkpoint", "convert", str(folder), str(tmp_path / "no" / "out.npz"))
    assert result.code == EXIT_REFUSED and "mkdir -p" in result.err
    result = call("checkpoint", "convert", str(folder), str(tmp_path / "o.keras"), "--script", "nowhere.py")
    assert result.code == EXIT_REFUSED and "does not exist" in result.err


def test_what_the_throwaway_process_says_is_said(call, folder, tmp_path, monkeypatch):
    answers = []
    monkeypatch.setattr("paceline.cli.checkpoint_remote.ask", lambda *args, **kwargs: answers.pop(0))
    from paceline.doctor.ask import Answer

    parts = {"what": "No.", "got": "this", "expected": "", "fix": "that"}
    answers.append(Answer(value={"fault": "No.", "error": {"exit_code": 78, **parts}}))
    result = call("checkpoint", "convert", str(folder), str(tmp_path / "o.npz"))
    assert result.code == 78 and "got:      this" in result.err
    answers.append(Answer(fault="exit code 1"))
    result = call("checkpoint", "convert", str(folder), str(tmp_path / "o.npz"))
    assert result.code == EXIT_REFUSED and "exit code 1" in result.err


def test_a_directory_on_an_object_store_is_asked_of_another_process(call):
    """TensorFlow's file system in memory: it is empty there."""
    result = call("checkpoint", "ls", "ram://bucket/run")
    assert result.code == 0, result.err
    assert "directory: ram://bucket/run" in result.out and "no checkpoint yet" in result.out


def test_as_a_person_runs_it(folder):
    done = subprocess.run(
        [sys.executable, "-m", "paceline", "checkpoint", "verify", folder], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "4 good" in done.stdout


def test_sizes_and_ages():
    assert checkpoint_text.size(999) == "999 B" and checkpoint_text.size(999_990) == "1.0 MB"
    assert checkpoint_text.age(None) == ""
