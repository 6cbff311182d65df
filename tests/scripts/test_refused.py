"""What cannot be right on several replicas ends with a sentence, everywhere alike; what was caught leaves nothing."""

from __future__ import annotations

import pytest

#: Not of the versions of Keras: run on the newest tested ones only.

MIRRORED = ("--strategy", "mirrored", "--replicas-per-worker", "2")


@pytest.fixture(scope="module")
def workers(start):
    return start("refused.py", "uncaught", workers=2)


@pytest.fixture(scope="module")
def replicas(start):
    return start("refused.py", workers=1, options=MIRRORED).ok()


@pytest.fixture
def outcome(request):
    return request.getfixturevalue(request.param)


#: By name of a fixture: several workers, and several replicas of one process.
everywhere = pytest.mark.parametrize("outcome", ["workers", "replicas"], indirect=True)


def refused(outcome, name):
    """Returns the text that every worker was refused with."""
    kind, code, text = outcome.same(name)
    assert (kind, code) == ("ScriptRefused", 78), text
    return text


@pytest.mark.parametrize(
    ("name", "got"),
    [
        ("rate by loss", r"small/head/kernel (by up to "),
        ("rate by process", "learning_rate (0.00100000005 on worker 0, 0.00200000009 on worker 1)"),
        ("bias by process", "got:      small/head/bias (by up to 1 on worker 1)"),
    ],
)
@pytest.mark.support(
    feature="workers that end with different weights", strategy="multi-worker", transport="mpi",
    refused="the weights that differ are named",
)  # fmt: skip
def test_workers_that_end_with_different_weights_are_refused(workers, name, got):
    text = refused(workers, name)
    assert "the workers differ: they train several models, not one" in text
    assert got in text


def test_another_learning_rate_is_seen_at_the_end_of_the_epoch(workers, replicas):
    assert workers.same("epochs") == 1
    assert replicas.same("epochs") == 3  # one process has one learning rate


def test_copies_of_one_process_that_differ_are_refused(replicas):
    text = refused(replicas, "rate by loss")
    assert "after fit the replicas differ" in text
    assert "on replica 1" in text


@everywhere
def test_weights_that_are_alike_no_numbers_are_not_refused(outcome):
    assert outcome.same("spoilt")
    assert outcome.same("not a number") is None


def test_the_job_ends_with_78_and_one_sentence(workers):
    assert workers.code == 78
    assert workers.text.count("after fit the workers differ") == 1
    assert "Traceback" not in workers.text


@everywhere
@pytest.mark.parametrize(
    ("name", "got"),
    [
        ("a mean compiled", "output 'mean' is one number for a whole batch"),
        ("a mean eagerly", "output 'mean' is one number for a whole batch"),
        ("gram compiled", "the output has "),
        ("gram eagerly", "the output has "),
        ("pairs compiled", "compares the rows of a batch with each other"),
        # No graph shows that they were rows.
        ("some rows eagerly", "output 'some/0' has not as many rows as the batch, of which there are 16"),
    ],
)
def test_predict_refuses_outputs_that_are_no_rows(outcome, name, got):
    assert got in refused(outcome, name)


@everywhere
def test_outputs_that_are_rows_are_put_together(outcome):
    assert outcome.same("rows_are_right")
    assert outcome.same("some_rows_are_right")
    assert outcome.same("some rows compiled") is None


@pytest.mark.parametrize("when", ["seen when run", "seen when traced", "eagerly"])
def test_parts_of_different_numbers_of_rows_are_refused(workers, when):
    assert "a batch whose first part has 8 rows, and another part 12" in refused(workers, f"parts, {when}")


@everywhere
def test_the_way_out_for_parts_of_different_numbers_of_rows_is_one(workers, outcome):
    text = refused(workers, "parts, seen when run")
    assert "unlabelled.batch(3).batch(16)" in text and "tf.reshape(part, [-1, *part.shape[2:]])" in text
    loss, of_one_device = outcome.same("mended_loss")
    assert loss == pytest.approx(of_one_device, rel=1e-5)  # float32 sums in another order
    assert outcome.same("parts, not made rows")[0] == "ValueError"  # by a batch alone the model has other axes


@everywhere
def test_a_fit_after_one_that_failed_is_a_first_one(outcome):
    assert outcome.same("a wrong shape")[0] == "ValueError"
    assert outcome.same("as_if_first")
    # As in plain Keras: what such a model was built for stays.
    kind, _, text = outcome.same("no features, then some")
    assert kind == "ValueError" and "has already been configured" in text


def test_workers_are_alike_after_it(workers):
    assert workers.same("digest")
