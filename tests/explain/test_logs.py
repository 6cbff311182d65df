"""Logs of every form: prefixes, times, colours, progress bars, archives, sizes."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.explain.judge import judge
from paceline.explain.lines import clean
from paceline.explain.scan import Scan

TRACEBACK = b"""Traceback (most recent call last):
  File "/home/me/train.py", line 12, in <module>
    model.fit(data)
  File "/usr/lib/python3.13/site-packages/keras/src/trainer.py", line 9, in fit
    raise ValueError("no")
ValueError: no
"""
LOST = b"E0000 00:00:1796127821.892137  490 base_collective_executor.cc:252] "
LOST += b"BaseCollectiveExecutor::StartAbort UNAVAILABLE: "
LOST += b"Error reported from /job:worker/task:1: The following tasks are unhealthy (stopped sending heartbeats):\n"


def explained(*logs, limit_s=60.0):
    scan = Scan(limit_s)
    for number, log in enumerate(logs):
        scan.read(io.BytesIO(log), f"log{number}")
    return judge(scan)


@pytest.mark.parametrize(
    ("line", "worker", "text"),
    [
        (b"[1] Killed", "1", "Killed"),
        (b"[rank1]: Killed", "1", "Killed"),
        (b"1: Killed", "1", "Killed"),
        (b"worker 1 | Killed", "1", "Killed"),
        (b"train-worker-1  | Killed", "train-worker-1", "Killed"),
        (b"[1,3]<stderr>: Killed", "3", "Killed"),
        (b"(pid=88631) Killed", "pid=88631", "Killed"),
        (b"2026-11-30T12:00:00.5Z stderr F Killed", "", "Killed"),
        (b"[pod/tf-worker-1/main] Killed", "tf-worker-1", "Killed"),
        (b"\x1b[1;31mKilled\x1b[0m\r", "", "Killed"),
        (b"Kill\xffed", "", "Kill\ufffded"),
    ],
)
def test_what_stands_around_a_line_is_taken_off(line, worker, text):
    assert (clean(line).worker, clean(line).text) == (worker, text)


def test_a_lost_peer_is_a_consequence_of_what_another_worker_raised():
    log = b"".join(b"0: " + line + b"\n" for line in LOST.splitlines())
    log += b"".join(b"1: " + line + b"\n" for line in TRACEBACK.splitlines())
    found = explained(log)
    assert found.who == "worker 1"
    assert found.first.row.name == "value-error"
    assert str(found.first.script) == "/home/me/train.py, line 12: model.fit(data)"
    assert [seen.first.row.name for seen in found.others] == ["peer-silent"]


def test_a_lost_peer_alone_names_the_worker_that_was_lost():
    found = explained(LOST)
    assert (found.who, found.first.row.name) == ("worker 1", "peer-silent")


def test_of_several_causes_with_times_the_earliest_counts():
    late = b"2026-11-30T12:00:09Z [0] OSError: [Errno 28] No space left on device\n"
    early = b"2026-11-30T12:00:03Z [1] OSError: [Errno 24] Too many open files\n"
    found = explained(late + early)
    assert (found.first.row.name, found.by, found.who) == ("too-many-open-files", "time", "worker 1")
    assert explained(late.split(b"Z ")[1], early.split(b"Z ")[1]).first.row.name == "disk-full"


def test_what_a_worker_survived_is_not_why_it_ended():
    log = (
        TRACEBACK
        + b"Epoch 2/9\n" * 3
        + b"slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-30T12:00:00 DUE TO TIME LIMIT ***\n"
    )
    assert explained(log).first.row.name == "slurm-time-limit"
    assert explained(TRACEBACK + b"Epoch 2/9\n").first.row.name == "value-error"


def test_a_progress_bar_without_line_ends_hides_nothing():
    bar = b"\r".join(b"%d/100000 loss: 0.1" % step for step in range(30_000))
    assert explained(bar + b"\rMemoryError\r" + bar).first.row.name == "python-memory"


@given(st.lists(st.one_of(st.binary(max_size=60), st.sampled_from([LOST, TRACEBACK, b"\r", b"\n", b"\x1b[", b"1: "]))))
@settings(max_examples=150, deadline=None)
def test_no_bytes_are_too_much(parts):
    found = explained(b"".join(parts))
    assert json.loads(json.dumps(found.to_json()))["schema"] == 1


def run(*args, data=None, memory=None):
    def limit():
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    source = str(Path(__file__).resolve().parents[2] / "src")
    done = subprocess.run(
        [sys.executable, "-m", "paceline", "explain", *map(str, args)],
        input=data, capture_output=True, check=False, env={**os.environ, "PYTHONPATH": source},
        preexec_fn=limit if memory else None,
    )  # fmt: skip
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_a_log_of_any_size_takes_little_memory(tmp_path):
    path = tmp_path / "big.log"
    with path.open("wb") as file:
        file.write(b"Epoch 1/9\n")
        file.seek(20 << 30, os.SEEK_SET)
        file.write(b"\nMemoryError\n")
    code, out, err = run("--limit", "1", path, memory=400 << 20)
    assert code == 0, err
    assert "Python got no more memory" in out
    with path.open("wb") as file:
        for number in range(200_000):
            file.write(
                b"%d: step %d of 200000, loss 0.123, accuracy 0.5, a line like any other of a long log\n"
                % (number % 8, number)
            )
        file.write(b"OSError: [Errno 28] No space left on device\n")
    code, out, err = run(path, memory=400 << 20)
    assert code == 0, err
    assert f"{path}:200001" in out


def test_archives_and_standard_input(tmp_path):
    (tmp_path / "log.gz").write_bytes(gzip.compress(TRACEBACK))
    assert "train.py, line 12" in run(tmp_path / "log.gz")[1]
    assert "train.py, line 12" in run("-", data=gzip.compress(TRACEBACK))[1]
    (tmp_path / "cut.gz").write_bytes(gzip.compress(os.urandom(99_999))[:-500])
    code, out, _ = run("--all", tmp_path / "cut.gz")
    assert "the archive is damaged after line" in out and code in {0, 1}


def test_nothing_found_says_what_was_looked_at(tmp_path):
    (tmp_path / "log").write_text("Epoch 1/2\nall is well\n")
    code, out, _ = run(tmp_path / "log")
    assert code == 1
    assert "2 lines, 22 bytes" in out and "| all is well" in out


@pytest.mark.parametrize("name", ["missing", "."])
def test_what_cannot_be_read_is_usage(tmp_path, name):
    code, out, err = run(tmp_path / name)
    assert (code, out) == (2, "")
    assert "Traceback" not in err and "expected:" in err
