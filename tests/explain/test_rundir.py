"""Run directories: which attempt, which worker, and what is said where nothing failed."""

from __future__ import annotations

import json

import pytest

from paceline.cli import main
from paceline.launch import report, verdict

REFUSED = "paceline: the workers differ\n  got:      bias\n  fix:      keras.utils.set_random_seed(1)\n"


def write(run, attempt, rank, *events):
    folder = run / "attempts" / str(attempt) / f"worker-{rank}"
    folder.mkdir(parents=True)
    lines = (json.dumps({"v": 1, "rank": rank, **event}) for event in events)
    (folder / "journal.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder


def start(t):
    return {"t": t, "kind": "start", "pid": 1}


@pytest.fixture
def run(tmp_path):
    """Attempt 0: worker 1 was killed, and worker 0 lost it. Attempt 1: refused."""
    lost = {
        "t": 9.0,
        "kind": "error",
        "type": "UnavailableError",
        "text": "gone",
        "traceback": "UnavailableError: gone\n",
    }
    write(tmp_path, 0, 0, start(1.0), lost, {"t": 9.1, "kind": "end", "exit_code": 1})
    folder = write(tmp_path, 0, 1, start(1.0))
    (folder / "stderr.log").write_text("OSError: [Errno 28] No space left on device\n")
    error = {"t": 5.0, "kind": "error", "type": "ScriptRefused", "text": "the workers differ", "traceback": REFUSED}
    write(tmp_path, 1, 0, start(1.0), error, {"t": 5.1, "kind": "end", "exit_code": 78})
    write(tmp_path, 1, 1, start(1.0), {"t": 5.2, "kind": "signal", "name": "SIGTERM"})
    return tmp_path


def test_the_last_attempt_is_explained_and_a_refusal_keeps_its_fix(run, capsys):
    assert main(["explain", str(run)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Worker 0 of 2 failed first: ScriptRefused: the workers differ.")
    assert "fix:       keras.utils.set_random_seed(1)" in out


def test_a_killed_worker_comes_before_the_one_that_lost_it(run, capsys):
    assert main(["explain", "--attempt", "0", str(run)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith("Worker 1 of 2 failed first: it ended without a word")
    assert "After it: worker 0: UnavailableError: gone." in out
    assert "A disk is full" in out


def test_a_run_that_ended_well_has_nothing_to_explain(tmp_path, capsys):
    for rank in (0, 1):
        write(tmp_path, 0, rank, start(1.0), {"t": 2.0, "kind": "end", "exit_code": 0})
    assert main(["explain", str(tmp_path)]) == 1
    assert "Nothing here is known to be a failure." in capsys.readouterr().out


def test_the_launcher_names_a_likely_cause_only_where_the_table_knows_more_than_the_line():
    failure = verdict.Failure(1, 1, 2.0)
    full = report.likely(failure, ["  x", "OSError: [Errno 28] No space left on device"])
    assert len(full) == 1 and full[0].startswith("  likely:   A disk is full")
    assert report.likely(failure, ["ValueError: no"]) == []
    assert report.likely(verdict.Failure(1, 78, 2.0), ["No space left on device"]) == []
