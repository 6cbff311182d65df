import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

GOOD = '{"cluster": {"worker": ["a:2222", "b:2222"]}, "task": {"type": "worker", "index": 0}}'
BAD = '{"cluster": {"worker": ["a:2222", "a:2222"]}, "task": {"type": "worker", "index": 0}}'


def test_a_right_one_is_ok(call):
    result = call("cluster", "check", GOOD)
    assert result.code == 0
    assert result.out.splitlines()[-1] == "the argument: ok"


def test_a_wrong_one_is_refused(call):
    result = call("cluster", "check", BAD)
    assert result.code == 78
    assert "cluster.worker[1] (line 1, column 35)" in result.out
    assert result.out.splitlines()[-1] == "the argument: 1 error"


@pytest.mark.parametrize(("text", "code"), [(GOOD, 0), (BAD, 78), ("{", 78)])
def test_json(call, text, code):
    result = call("cluster", "check", "--json", text)
    value = json.loads(result.out)
    assert result.code == code
    assert value["ok"] == (code == 0)
    assert (value["cluster"] is None) == (code != 0)
    assert {"severity", "code", "where", "text", "got", "expected", "fix"} == set(value["findings"][0])


def test_the_variable(call, monkeypatch):
    monkeypatch.setenv("TF_CONFIG", BAD)
    assert call("cluster", "check").code == 78


def test_no_variable_and_no_argument_is_usage(call, monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    result = call("cluster", "check")
    assert result.code == 2
    assert "not set" in result.err


def test_a_file(call, tmp_path):
    path = tmp_path / "tf_config.json"
    path.write_text(GOOD)
    assert call("cluster", "check", f"@{path}").code == 0
    assert call("cluster", "check", f"@{tmp_path}").code == 2
    assert call("cluster", "check", "@no-such-file").code == 2


def test_a_python_file_is_read_with_a_warning(call, tmp_path):
    path = tmp_path / "tf_config.py"
    path.write_text(f"TF_CONFIG = {GOOD}\n")
    result = call("cluster", "check", f"@{path}")
    assert result.code == 0
    assert "this is a Python program" in result.out


def test_standard_input(call, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff")))
    assert call("cluster", "check", "-").code == 78


@pytest.mark.parametrize("text", [GOOD.encode(), b"\xff\xfe", b"", "{'a': '\u20ac'}".encode()])
def test_the_command_can_be_run_on_any_terminal(text):
    command = [sys.executable, "-m", "paceline", "cluster", "check", "-"]
    environ = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, input=text, capture_output=True, check=False, env=environ)
    assert done.returncode == (0 if text == GOOD.encode() else 78)
    assert done.stderr == b""


def test_show_is_true_to_the_variable(call, monkeypatch):
    monkeypatch.setenv("TF_CONFIG", GOOD.replace('"index": 0', '"index": 1'))
    result = call("cluster", "show")
    assert "environment: tf_config" in result.out
    assert "1     worker:1  b:2222   this process" in result.out
    value = json.loads(call("cluster", "show", "--json").out)
    assert (value["environment"], value["rank"], value["num_workers"]) == ("tf_config", 1, 2)


def test_show_of_a_broken_variable_is_refused(call, monkeypatch):
    monkeypatch.setenv("TF_CONFIG", BAD)
    result = call("cluster", "show")
    assert result.code == 78
    assert "two tasks have the same address" in result.err


def test_show_without_any_cluster(call, monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    assert "environment: local" in call("cluster", "show").out


@pytest.mark.article
def test_the_article_s_own_tf_config(call):
    folder = os.environ.get("PACELINE_ARTICLE_DIR")
    if not folder:
        pytest.skip("PACELINE_ARTICLE_DIR is not set")
    result = call("cluster", "check", f"@{Path(folder) / 'tf_config.py'}")
    assert result.code == 0
    assert "worker 0 (192.168.1.10:2222) is the chief" in result.out
