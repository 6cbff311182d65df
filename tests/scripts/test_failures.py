"""However a script fails, the job ends soon, with the right code, and says which worker and why."""

from __future__ import annotations

import re

import pytest

#: Not of the versions of Keras: run on the newest tested ones only.

_END_S = 75  # a start takes about 10 s on a busy machine, the limit for a worker left alone is 10 s


def failed(start, how, workers=2):
    result = start("fails.py", how, workers=workers, options=("--grace", "5s"))
    assert result.seconds < _END_S
    assert not any("reached" in worker for worker in result.facts)
    return result


def test_a_callback_that_raises_on_one_worker(start):
    result = failed(start, "callback")
    assert result.code == 1
    assert "worker 1 of 2" in result.text
    assert result.text.count("ValueError: a callback broke on one worker") == 1
    assert "in on_train_batch_end" in result.text and "src/paceline/" not in result.text


@pytest.mark.parametrize(
    ("how", "message"), [("folder", "Not a directory|a-file"), ("full disk", "File too large|Errno 27|errno = 27")]
)
def test_a_save_that_fails_ends_the_job_with_the_reason(start, how, message):
    result = failed(start, how)
    assert result.code == 1
    assert re.search(message, result.text)


@pytest.mark.parametrize(("how", "transport"), [("early exit", "mpi"), ("early return", "ring")])
@pytest.mark.support(
    feature="a worker that ends its script early", strategy="multi-worker", transport="mpi",
    refused="named, exit code 124",
)  # fmt: skip
def test_a_worker_that_ends_early_is_named(start, how, transport):
    result = start("fails.py", how, workers=2, options=("--grace", "5s", "--communication", transport))
    assert result.seconds < _END_S
    assert result.code == 124
    assert "Worker 1 has ended the script, worker 0 waits in step" in result.text
    assert "look for a branch on the worker's rank" in result.text


def test_a_late_end_is_no_failure(start):
    result = start("fails.py", "slow end", workers=2).ok()
    assert result.same("ended")


def test_a_run_directory_that_is_removed_holds_nothing_up(start):
    result = start("fails.py", "run directory", workers=2).ok()
    assert result.seconds < _END_S
    assert result.same("ended")


@pytest.mark.parametrize(("how", "code", "workers"), [("code", 5, 2), ("text", 1, 1), ("interrupt", 130, 1)])
def test_exit_codes_are_the_scripts(start, how, code, workers):
    result = failed(start, how, workers=workers)
    assert result.code == code
    if how == "text":
        assert "nothing to do here" in result.text
        assert "Traceback" not in result.text


@pytest.mark.support(
    feature="different models on different workers", strategy="multi-worker", transport="mpi",
    refused="the variable that differs is named",
)  # fmt: skip
@pytest.mark.parametrize(
    ("how", "pattern"),
    [
        (
            "deferred width",
            r"variable 0 is \S*kernel \(6, 4\) float32 on worker 0, \S*kernel \(6, 5\) float32 on worker 1",
        ),
        ("depth", r"worker 0 has \d+ variables, worker 1 has \d+; variable \d+ is .* on worker 0, \S*kernel \(3, 3\)"),
    ],
)
def test_different_models_are_refused(start, how, pattern):
    result = failed(start, how)
    assert result.code == 78
    assert "The workers built different models." in result.text
    assert re.search(pattern, result.text), result.text
