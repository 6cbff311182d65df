"""A call that all workers must make, made by some: the job ends soon, and says who is in which call."""

from __future__ import annotations

import pytest

#: Not of the versions of Keras: run on the newest tested ones only.

#: A start takes about 10 s on a busy machine; a wait inside TensorFlow is found after 3 s, any other at once.
_END_S = 40


def apart(start, how, transport, workers=2):
    options = ("--grace", "5s", "--communication", transport)
    result = start("apart.py", how, workers=workers, options=options)
    assert result.code == 78, result.text
    assert result.seconds < _END_S
    assert not result.facts
    assert "Traceback" not in result.text and "truncated" not in result.text
    assert "call failed" not in result.text
    return result.text


@pytest.mark.parametrize(("transport", "workers"), [("mpi", 2), ("ring", 3)])
@pytest.mark.support(
    feature="evaluate in a callback of one worker", strategy="multi-worker", transport="mpi",
    refused="who is in which call is said",
)  # fmt: skip
def test_an_evaluation_in_the_chiefs_callback_is_refused(start, transport, workers):
    text = apart(start, "callback", transport, workers)
    others = "worker 1" if workers == 2 else "workers 1 and 2"
    assert f"got:      evaluate inside fit in worker 0, fit in {others}" in text
    assert "if paceline.is_chief(): print(result)" in text


@pytest.mark.parametrize("transport", ["mpi"])
def test_a_prediction_between_two_fits_on_the_chief_is_refused(start, transport):
    assert "got:      predict in worker 0, fit in worker 1" in apart(start, "predict", transport)


def test_workers_that_wait_inside_tensorflow_are_found(start):
    assert "got:      test_on_batch in worker 0, train_on_batch in worker 1" in apart(start, "steps", "ring")


def test_different_numbers_of_epochs_are_refused(start):
    text = apart(start, "epochs", "mpi")
    assert "got:      fit (its next gathering) in worker 0, fit (its next sum) in worker 1" in text
