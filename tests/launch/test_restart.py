"""Which ends of an attempt are worth another one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.journal.events import Event
from paceline.launch.restart import FIRST_WAIT_S, LONGEST_WAIT_S, Kind, Outcome, decide, kind_of
from paceline.launch.verdict import Failure


def failure(code, error=None):
    return Failure(0, code, 1.0, Event(1.0, 0, "error", {"type": error}) if error else None)


@pytest.mark.parametrize(
    ("code", "error", "oom_kills", "kind"),
    [
        (1, "ValueError", 0, Kind.SCRIPT),
        (3, None, 0, Kind.SCRIPT),
        (2, None, 0, Kind.REFUSED),
        (70, "PacelineError", 0, Kind.REFUSED),
        (70, "TransportError", 0, Kind.LOST),
        (78, "ScriptRefused", 0, Kind.REFUSED),
        (137, None, 0, Kind.KILLED),
        (137, None, 1, Kind.MEMORY),
        (1, "MemoryError", 0, Kind.MEMORY),
        (1, "ResourceExhaustedError", 0, Kind.MEMORY),
        (139, None, 0, Kind.CRASHED),
        (134, None, 0, Kind.CRASHED),
        (129, None, 0, Kind.KILLED),
        (1, "UnavailableError", 0, Kind.LOST),
        (124, None, 0, Kind.LIMIT),
        (143, None, 0, Kind.PREEMPTED),
        (130, None, 0, Kind.STOPPED),
    ],
)
def test_what_a_failure_means(code, error, oom_kills, kind):
    assert kind_of(failure(code, error), oom_kills=oom_kills) is kind


def history(*ends):
    return [Outcome(code=1, kind=kind, step=step) for kind, step in ends]


@pytest.mark.parametrize("kind", [Kind.DONE, Kind.STOPPED, Kind.REFUSED, Kind.SCRIPT])
def test_what_is_never_started_again(kind):
    assert not decide(history((kind, 5)), 10).again


@pytest.mark.parametrize("kind", [Kind.KILLED, Kind.CRASHED, Kind.LOST, Kind.LIMIT, Kind.MEMORY, Kind.PREEMPTED])
def test_what_is_started_again(kind):
    choice = decide(history((kind, 5)), 1)
    assert choice.again and choice.wait_s == FIRST_WAIT_S
    assert not decide(history((kind, 5)), 0).again


def test_the_budget_is_kept_and_named():
    ends = [(Kind.KILLED, step) for step in (5, 10, 15)]
    assert decide(history(*ends), 3).number == 3
    choice = decide(history(*ends), 2)
    assert not choice.again and "2 times (--max-restarts 2)" in choice.reason


def test_a_preemption_is_not_counted():
    ends = [(Kind.PREEMPTED, step) for step in range(1, 9)]
    assert decide(history(*ends, (Kind.KILLED, 20)), 1).again


def test_a_script_that_ends_as_if_preempted_is_not_started_again_for_ever():
    assert decide(history(*[(Kind.PREEMPTED, 5)] * 2), 1).again
    assert not decide(history(*[(Kind.PREEMPTED, 5)] * 3), 1).again


def test_memory_that_runs_out_twice_in_one_place_runs_out_again():
    choice = decide(history((Kind.MEMORY, 7), (Kind.MEMORY, 7)), 10)
    assert not choice.again and "memory has run out twice at step 7" in choice.reason
    assert decide(history((Kind.MEMORY, 7), (Kind.MEMORY, 900)), 10).again
    assert not decide(history((Kind.MEMORY, 0), (Kind.MEMORY, 0)), 10).again


def test_three_attempts_in_one_place_are_enough():
    assert decide(history((Kind.CRASHED, 7), (Kind.CRASHED, 7)), 10).again
    choice = decide(history((Kind.CRASHED, 7), (Kind.LIMIT, 7), (Kind.CRASHED, 3)), 10)
    assert not choice.again and "3 attempts in a row" in choice.reason
    assert decide(history((Kind.CRASHED, 7), (Kind.CRASHED, 7), (Kind.CRASHED, 8)), 10).again


def test_who_kills_workers_from_outside_may_do_so_as_often_as_the_budget_says():
    ends = [(Kind.KILLED, 7)] * 8
    assert decide(history(*ends), 8).again
    assert not decide(history(*ends), 7).again


def test_the_wait_doubles_in_one_place_and_begins_anew_with_progress():
    assert decide(history((Kind.KILLED, 7), (Kind.KILLED, 7)), 10).wait_s == 2 * FIRST_WAIT_S
    assert decide(history((Kind.KILLED, 7), (Kind.KILLED, 7), (Kind.KILLED, 9)), 10).wait_s == FIRST_WAIT_S


@given(
    st.lists(st.tuples(st.sampled_from(list(Kind)), st.integers(0, 1000)), min_size=1, max_size=40), st.integers(0, 20)
)
def test_every_history_has_an_answer_and_a_reason(ends, most):
    choice = decide(history(*ends), most)
    assert choice.reason
    assert 0.0 <= choice.wait_s <= LONGEST_WAIT_S
    counted = sum(kind is not Kind.PREEMPTED for kind, _ in ends)
    assert not (choice.again and counted > most)
