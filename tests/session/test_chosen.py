"""The command line beats the script, the script beats the default; what lost is said."""

import re

import pytest

from paceline.errors import UsageError
from paceline.session.chosen import check_type, describe_change, settle
from paceline.step_options import BETWEEN_PROCESSES, IN_ONE_PROCESS, StepOptions

MPI = {"running": "mpi", "choices": BETWEEN_PROCESSES}
LOCAL = {"running": "auto", "choices": IN_ONE_PROCESS}
ONE = {"running": "none", "choices": ()}


@pytest.mark.parametrize(
    ("asked", "script", "job", "in_effect", "told"),
    [
        ({}, {}, MPI, {}, []),
        ({}, {"wire_dtype": "float16", "bucket_mb": 2.0, "jit": "off"}, MPI, None, []),
        ({"jit": "on"}, {"wire_dtype": "float16"}, MPI, {"jit": "on", "wire_dtype": "float16"}, []),
        ({"jit": "on"}, {"jit": "on"}, MPI, {"jit": "on"}, []),
        ({"jit": "on"}, {"jit": "off"}, MPI, {"jit": "on"}, ["jit='off'.*given --jit on"]),
        (
            {"wire_dtype": "float16", "bucket_mb": 1.0},
            {"wire_dtype": "bfloat16", "bucket_mb": 2.0},
            MPI,
            {"wire_dtype": "float16", "bucket_mb": 1.0},
            ["wire_dtype='bfloat16'.*--wire-dtype float16", "bucket_mb=2.0.*--bucket-mb 1.0"],
        ),
        ({}, {"communication": "mpi"}, MPI, {}, []),
        ({}, {"communication": "ring"}, MPI, {}, ["'ring'.*fixed when the job starts.*run --communication ring"]),
        ({}, {"communication": "one-device"}, MPI, {}, ["'one-device'.*for the replicas of one process"]),
        ({}, {"communication": "one-device"}, LOCAL, {}, ["TensorFlow's own choice.*--communication one-device"]),
        ({}, {"communication": "mpi"}, LOCAL, {}, ["'mpi'.*for several workers"]),
        ({}, {"communication": "mpi"}, ONE, {}, ["one replica, nothing to sum"]),
    ],
)
def test_who_wins(asked, script, job, in_effect, told):
    settled, lines = settle(StepOptions(**asked), StepOptions(**script), StepOptions(), **job)
    assert settled == StepOptions(**(script if in_effect is None else in_effect))
    assert len(lines) == len(told)
    for line, pattern in zip(lines, told, strict=True):
        assert re.search(pattern, line)


def test_the_communication_in_effect_stays():
    current = StepOptions(communication="hierarchical")
    job = {"running": "hierarchical", "choices": IN_ONE_PROCESS}
    settled, _ = settle(StepOptions(), StepOptions(communication="one-device", jit="on"), current, **job)
    assert settled == StepOptions(communication="hierarchical", jit="on")


def test_a_later_choice_is_described():
    assert not describe_change(StepOptions(jit="on"), StepOptions(jit="on"))
    text = describe_change(StepOptions(jit="on"), StepOptions(bucket_mb=2.0))
    assert "bucket_mb=2.0 (it was 0.0)" in text and "jit='auto' (it was 'on')" in text


@pytest.mark.parametrize("wrong", ["bfloat16", {"jit": "on"}, StepOptions])
def test_anything_else_is_refused(wrong):
    with pytest.raises(UsageError, match=r"paceline\.StepOptions\(\.\.\.\)"):
        check_type(wrong)
