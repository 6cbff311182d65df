"""Numbers of collectives: equal where workers do the same, whatever each does by itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from paceline.errors import ScriptRefused
from paceline.session.calls import Calls, refusal

NAMES = ["fit", "evaluate", "predict", "train_on_batch"]
ACTIONS = st.lists(st.sampled_from([*NAMES, "end", "step", "sum"]), max_size=60)


def do(calls, action, depth):
    """Does one thing; returns the number of a collective, if it is one, and how many calls are open."""
    if action in NAMES:
        calls.begins(action)
        return None, depth + 1
    if action == "end":
        if depth:
            calls.ends()
        return None, max(depth - 1, 0)
    return calls.enters(action, 8), depth


@given(ACTIONS, st.lists(st.integers(0, 60)))
def test_workers_that_do_the_same_agree_and_calls_without_collectives_count_nothing(actions, alone):
    one, other, depth = Calls(), Calls(), 0
    for place, action in enumerate(actions):
        if place in alone:  # a call that fails before it begins
            other.begins("predict")
            other.ends()
        number, deeper = do(one, action, depth)
        assert do(other, action, depth) == (number, deeper)
        depth = deeper
        assert not one.contradict(other.last)
        assert one.has_come(other.last)


def test_one_that_is_behind_contradicts_nothing():
    ahead, behind = Calls(), Calls()
    for calls in (ahead, behind):
        calls.begins("fit")
        calls.enters("sum", 8)
    ahead.ends()
    ahead.begins("evaluate")
    ahead.enters("step")
    assert not ahead.contradict(behind.last) and not ahead.has_come(behind.last)
    assert not behind.contradict(ahead.last) and behind.has_come(ahead.last)


def test_another_call_at_the_same_place_contradicts_also_later():
    ahead, behind = Calls(), Calls()
    ahead.begins("predict")
    behind.begins("fit")
    behind.enters("sum", 8)
    for _ in range(900):
        ahead.enters("step")
        assert ahead.contradict(behind.last)
    for _ in range(200):  # so far behind that it is not remembered: no verdict
        ahead.enters("step")
    assert not ahead.contradict(behind.last)


def test_sizes_and_places_and_depths_contradict():
    def number(calls, *actions):
        for action in actions:
            do(calls, action, 1)
        return calls.enters("sum", 4096)

    base = Calls()
    number(base, "fit")
    assert base.contradict(Calls().enters("sum", 4096))
    assert base.contradict(number(Calls(), "fit", "evaluate"))
    other = Calls()
    other.begins("fit")
    assert base.contradict(other.enters("sum", 8192))


def test_many_workers_and_deep_calls_are_said_in_words():
    calls = [Calls() for _ in range(4)]
    for one in calls:
        one.begins("fit")
    for _ in range(6):
        calls[2].begins("evaluate")
    error = refusal({rank: one.enters("sum") for rank, one in enumerate(calls)})
    assert isinstance(error, ScriptRefused) and error.exit_code == 78
    inside = "evaluate inside evaluate inside evaluate inside evaluate"
    assert error.got == f"fit in workers 0, 1 and 3, {inside} in worker 2"


def test_points_of_one_call_are_said_in_words():
    one, other = Calls(), Calls()
    assert refusal({0: one.enters("sum", 4), 1: other.enters("sum", 8)}).got.endswith("of different sizes")
    one.begins("fit")
    other.begins("fit")
    one.enters("step")
    one.ends()
    one.begins("fit")
    assert (
        refusal({0: one.enters("sum"), 1: other.enters("sum")}).got
        == "fit (call 2) in worker 0, fit (call 1) in worker 1"
    )
