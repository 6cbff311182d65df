"""`paceline.strategy(options)` in a job: what takes effect is where a step looks for it."""

from __future__ import annotations

import pytest

import paceline
from paceline.collectives.transport import Alone
from paceline.errors import UsageError
from paceline.session import state
from paceline.step_options import StepOptions
from paceline.strategies.job import JobStrategy
from paceline.training import decisions


@pytest.fixture
def told(monkeypatch):
    lines = []
    monkeypatch.setattr(decisions, "_told", set())
    monkeypatch.setattr(decisions, "_tell", [lines.append])
    return lines


@pytest.fixture
def enter(monkeypatch, told):
    """Returns a function that enters a job whose command line gave options, and returns its strategy."""
    monkeypatch.setattr(state, "_current", [])

    def enter_job(num_workers=2, transport="mpi", **asked):
        given = StepOptions(**asked)
        strategy = JobStrategy.create(Alone(), "/cpu:0", lambda dataset: dataset, options=given)
        state.enter(state.State(strategy=strategy, rank=0, num_workers=num_workers, asked=given, transport=transport))
        return strategy

    return enter_job


def test_without_options_there_are_the_defaults():
    strategy = JobStrategy.create(Alone(), "/cpu:0", lambda dataset: dataset)
    assert strategy.extended.step_options == StepOptions()


def test_the_command_lines_are_there_before_the_script_and_stay_without_a_word(enter, told):
    strategy = enter(wire_dtype="float16")
    assert paceline.strategy() is strategy
    assert strategy.extended.step_options == StepOptions(wire_dtype="float16")
    assert told == []


def test_the_scripts_take_effect_where_the_command_line_gave_none(enter, told):
    strategy = enter(wire_dtype="float16")
    assert paceline.strategy(StepOptions(bucket_mb=2.0, jit="off")) is strategy
    assert strategy.extended.step_options == StepOptions(wire_dtype="float16", bucket_mb=2.0, jit="off")
    assert told == []


def test_what_lost_is_said_once(enter, told):
    strategy = enter(wire_dtype="float16")
    for _ in range(2):
        paceline.strategy(StepOptions(wire_dtype="bfloat16", communication="ring"))
    assert strategy.extended.step_options == StepOptions(wire_dtype="float16")
    assert len(told) == 2
    assert "--wire-dtype float16" in told[0]
    assert "is mpi: paceline run --communication ring" in told[1]


def test_the_later_call_applies_and_is_said(enter, told):
    strategy = enter()
    paceline.strategy(StepOptions(jit="on"))
    paceline.strategy()
    paceline.strategy(StepOptions(jit="on"))
    assert told == []
    paceline.strategy(StepOptions(jit="off"))
    assert strategy.extended.step_options.jit == "off"
    assert len(told) == 1 and "jit='off' (it was 'on')" in told[0]


def test_one_replica_has_nothing_to_sum(enter, told):
    enter(num_workers=1, transport="none")
    paceline.strategy(StepOptions(communication="mpi"))
    assert len(told) == 1 and "nothing to sum" in told[0]


def test_other_things_are_refused(enter):
    enter()
    with pytest.raises(UsageError, match="takes step options"):
        paceline.strategy("bfloat16")
