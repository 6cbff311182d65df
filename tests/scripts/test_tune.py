"""`paceline tune` on real workers leaves a file, and the next job over RING takes its tuning from there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def cache_home(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def tuned(start, cache_home):
    """Returns how ``paceline tune --quick --json`` ended."""
    command = ["-m", "paceline", "tune", "--workers", "2", "--quick", "--json"]
    return start("tune", plain=True, command=command, env={"XDG_CACHE_HOME": str(cache_home)}).ok()


def ring_job(start, cache_home, *options):
    ring = ("--communication", "ring", "--run-dir", "run", *options)
    return start("nothing.py", options=ring, env={"XDG_CACHE_HOME": str(cache_home)}).ok()


def check_taken(folder, tuning, reason):
    """Checks that launcher, job and every worker's transport have this tuning, for this reason."""
    decision = decided(json.loads((folder / "decisions.json").read_text())["decisions"])
    assert decision["value"] == tuning
    assert re.search(reason, decision["reason"])
    assert json.loads((folder / "attempts/0/job.json").read_text())["step"]["ring"] == tuning
    for rank in (0, 1):
        lines = (folder / f"attempts/0/worker-{rank}/journal.jsonl").read_text().splitlines()
        (ready,) = [event for event in map(json.loads, lines) if event["kind"] == "ready"]
        assert (ready["transport"], ready["ring"]) == ("ring", tuning)


def decided(decisions):
    (found,) = [decision for decision in decisions if decision["name"] == "ring tuning"]
    return found


@pytest.mark.support(feature="paceline tune", strategy="multi-worker", transport="mpi")
def test_every_contestant_is_measured_on_real_workers(tuned, cache_home):
    document = json.loads(tuned.out)
    (path,) = (cache_home / "paceline/tune").iterdir()
    assert json.loads(path.read_text()) == {k: v for k, v in document.items() if k != "file"}
    assert [result["transport"] for result in document["results"]] == ["ring"] * 3 + ["mpi"]
    assert all(time_s > 0 for result in document["results"] for _, time_s in result["times_s"])
    assert list(tuned.folder.iterdir()) == [tuned.folder / "facts"]  # no run directory is left


@pytest.mark.support(feature="paceline tune", strategy="multi-worker", transport="ring")
def test_the_next_job_over_ring_takes_what_was_measured(start, tuned, cache_home):
    choice = json.loads(tuned.out)["choice"]
    folder = ring_job(start, cache_home).folder / "run"
    check_taken(folder, choice["tuning"], f"measured by paceline tune --quick on .*: {choice['reason']}")


def test_a_tuning_that_is_no_default_reaches_every_worker(start, tuned, cache_home):
    path = Path(json.loads(tuned.out)["file"])
    content = json.loads(path.read_text())
    content["choice"] |= {"tuning": {"max_subdivs": 8, "chunk_bytes": 2**20, "channels": 4}, "less_time": 0.23}
    path.write_text(json.dumps(content))
    folder = ring_job(start, cache_home).folder / "run"
    check_taken(folder, content["choice"]["tuning"], ": 23 % less time than TensorFlow's own setting$")


def test_a_damaged_file_is_ignored_and_said(start, tmp_path, tuned, cache_home):
    folder = tmp_path / "paceline/tune"
    folder.mkdir(parents=True)
    (folder / Path(json.loads(tuned.out)["file"]).name).write_text("{")
    job = ring_job(start, tmp_path, "--dry-run")
    decision = decided(json.loads(job.out)["decisions"])
    assert decision["value"] == {"max_subdivs": 0, "chunk_bytes": 0, "channels": 1}
    assert decision["is_fallback"] and "is ignored: it is damaged" in decision["reason"]
    assert job.notes("ring tuning: .*is ignored: it is damaged")
