"""XLA is chosen by itself only where all that runs in a step is Keras' own."""

from __future__ import annotations

import pytest

#: Not of the versions of Keras: run on the newest tested ones only.

REASONS = {
    "own activation": "own_python is the script's own",
    "own regularizer": "own_number is the script's own",
    "own constraint": "own_python is the script's own",
    "own metric": "own_number is the script's own",
    "own loss": "<lambda> is the script's own",
    "own schedule": "OwnSchedule is the script's own",
    "own optimizer": "OwnSGD is the script's own",
    "operation": "is not known to be faster with XLA",
}


@pytest.fixture(scope="module")
def results(start):
    return start("jit_auto.py", workers=2).ok().same("results")


@pytest.mark.parametrize("kind", ["plain", "adam"])
def test_what_is_keras_own_is_compiled(results, kind):
    assert results[kind] == [True, "its layers are of the kinds that XLA makes faster", 2]


@pytest.mark.parametrize("kind", REASONS)
def test_what_xla_may_not_know_is_not_compiled_and_trains(results, kind):
    use, reason, epochs = results[kind]
    assert (use, epochs) == (False, 2)
    assert REASONS[kind] in reason
