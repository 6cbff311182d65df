"""What `paceline explain` says of real runs that failed, and what the launcher says by itself."""

from __future__ import annotations

import json

import pytest

from paceline.cli import main


def explained(capsys, *args):
    code = main(["explain", *args])
    return code, capsys.readouterr()


@pytest.fixture(scope="module")
def exception(start, tmp_path_factory):
    folder = tmp_path_factory.mktemp("exception")
    return start("dies.py", "exception", folder=folder, options=["--run-dir", "run"])


@pytest.fixture(scope="module")
def killed(start, tmp_path_factory):
    folder = tmp_path_factory.mktemp("killed")
    return start("dies.py", "kill", folder=folder, options=["--run-dir", "run"])


@pytest.mark.support(feature="paceline explain of a run", strategy="multi-worker", transport="mpi")
def test_an_exception_is_told_with_the_scripts_line(exception, capsys):
    code, said = explained(capsys, str(exception.folder / "run"))
    assert code == 0
    assert said.out.startswith("Worker 1 of 2 failed first: FileNotFoundError:")
    assert 'dies.py, line 14: Path("/nonexistent/labels.csv")' in said.out
    code, said = explained(capsys, "--json", str(exception.folder / "run"))
    first = json.loads(said.out)["first"]
    assert (first["name"], first["worker"], first["script"]["line"]) == ("file-not-found", "1", 14)


def test_a_worker_that_was_killed_is_told(killed, capsys):
    code, said = explained(capsys, str(killed.folder / "run"), "--attempt", "0")
    assert code == 0
    assert said.out.startswith("Worker 1 of 2 failed first: it ended without a word")


def test_an_attempt_that_is_not_there_is_usage(killed, capsys):
    code, said = explained(capsys, str(killed.folder / "run"), "--attempt", "7")
    assert code == 2
    assert "one of 0" in said.err
