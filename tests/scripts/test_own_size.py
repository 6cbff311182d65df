"""A step that uses the script's own batch size fails with a replica's rows; why is added to what TensorFlow says."""

from __future__ import annotations

import re

import pytest

#: Not of the versions of Keras: run on the newest tested ones only.

HAS = "paceline: this replica has 8 of the batch's 16 rows, and the step uses another number of rows."
FIX = "  fix:      take it from the data, tf.shape(x)[0], instead of the script's 16   or   paceline run --workers 1 "
#: What fails first is not always the same: the reshape, or the gradient of what follows it.
EITHER = "requires a multiple of 48|Incompatible shapes|evenly divisible"
WAYS = {"workers": (2, ()), "replicas": (1, ("--strategy", "mirrored", "--replicas-per-worker", "2"))}


@pytest.fixture(scope="module", params=WAYS)
def outcome(request, start):
    workers, options = WAYS[request.param]
    return start("own_size.py", workers=workers, options=options)


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("fit, run", "InvalidArgumentError", EITHER),
        ("fit, traced", "ValueError", "must be evenly divisible by 48 but is 24"),
        ("fit, eagerly", "InvalidArgumentError", "requires a multiple of 48"),
        ("fit, XLA", "InvalidArgumentError", EITHER),
        ("train_step, run", "InvalidArgumentError", r"Incompatible shapes: \[24,3\] vs. \[32,1\]"),
        ("train_step, traced", "ValueError", "Dimensions must be equal, but are 24 and 32"),
        ("evaluate", "InvalidArgumentError", "Incompatible shapes: "),
        ("predict", "ValueError", "must be evenly divisible by 48 but is 24"),
        ("train_on_batch", "ValueError", "must be evenly divisible by 48 but is 24"),
    ],
)
def test_why_is_added_to_what_was_raised(outcome, name, kind, said):
    for worker in outcome.facts:
        found, text, notes = worker[name]
        assert found == kind and re.search(said, text)
        assert [note[: len(HAS)] for note in notes] == [HAS]


def test_it_is_not_added_to_another_error(outcome):
    assert all("5" in worker["another error"][1] and worker["another error"][2] == [] for worker in outcome.facts)


def test_a_person_sees_it_below_the_line_that_failed(outcome):
    assert outcome.code == 1
    line = 'programs/own_size.py", line 24, in call'
    assert outcome.err.index(line) < outcome.err.index("a multiple of 48") < outcome.err.index(f"{HAS}\n{FIX}")
    assert "src/paceline/" not in outcome.err
