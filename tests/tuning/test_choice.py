"""Which contestant wins, from times alone."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.tuning.choice import LARGE_BYTES, LARGE_WEIGHT, Contestant, Measured, bus_bandwidth, choose, mean_times
from paceline.tuning.ring import TENSORFLOWS_OWN, TRIED, RingTuning

SMALL, LARGE = LARGE_BYTES - 1, LARGE_BYTES
TUNED = RingTuning(max_subdivs=8)


def ring(tuning, *times_s, sizes=(SMALL, LARGE)):
    contestant = Contestant(transport="ring", tuning=tuning)
    return Measured(contestant=contestant, times_s=dict(zip(sizes, times_s, strict=True)))


MPI = Measured(contestant=Contestant(transport="mpi"), times_s={SMALL: 0.1, LARGE: 0.1})


def test_large_buffers_count_more_than_small_ones():
    choice = choose([ring(TENSORFLOWS_OWN, 1.0, 2.0), ring(TUNED, 2.0, 1.0)])
    assert choice.tuning == TUNED
    own, tuned = (1 + LARGE_WEIGHT * 2) / (1 + LARGE_WEIGHT), (2 + LARGE_WEIGHT) / (1 + LARGE_WEIGHT)
    assert choice.less_time == pytest.approx(1 - tuned / own, rel=1e-12)  # the same sum in float64


def test_what_is_gained_stands_in_the_reason():
    choice = choose([ring(TENSORFLOWS_OWN, 1.0, 1.0), ring(TUNED, 0.77, 0.77)])
    assert choice.reason == "23 % less time than TensorFlow's own setting"


def test_tensorflow_s_own_may_win_and_the_first_of_equals_does():
    choice = choose([ring(TENSORFLOWS_OWN, 1.0, 1.0), ring(TUNED, 1.0, 1.0)])
    assert (choice.tuning, choice.less_time) == (TENSORFLOWS_OWN, 0.0)
    assert choice.reason == "TensorFlow's own setting takes the least time"


def test_without_tensorflow_s_own_there_is_nothing_to_compare_with():
    choice = choose([ring(TUNED, 1.0, 1.0), ring(RingTuning(), 2.0, 2.0)])
    assert (choice.tuning, choice.less_time) == (TUNED, None)
    assert "least time of what was measured" in choice.reason


def test_another_transport_is_not_chosen_and_does_not_change_the_choice():
    rings = [ring(TENSORFLOWS_OWN, 1.0, 2.0), ring(TUNED, 2.0, 1.0)]
    assert choose([*rings, MPI]) == choose(rings)
    assert choose([MPI]) is None
    assert choose([]) is None


TIMES = st.lists(st.floats(1e-7, 1e3), min_size=3, max_size=3)


@given(st.lists(TIMES, min_size=1, max_size=len(TRIED)))
def test_the_choice_is_never_worse_than_tensorflow_s_own(times):
    results = [ring(TRIED[i], *row, sizes=(4, 2**16, 2**20)) for i, row in enumerate(times)]
    choice = choose(results)
    assert 0 <= choice.less_time < 1
    means = mean_times(results)
    # 1 is the best at every size; a sum of three quotients may be a unit in the last place below
    assert all(mean >= 1 or math.isclose(mean, 1) for mean in means)
    assert choice.tuning == TRIED[means.index(min(means))]


@given(st.integers(1, 2**30), st.floats(1e-7, 1e3), st.integers(2, 1000))
def test_bus_bandwidth_is_between_one_and_two_times_size_by_time(size, time_s, workers):
    rate = bus_bandwidth(size, time_s, workers)
    # two float64 roundings
    assert (size / time_s) * (1 - 1e-12) <= rate < 2 * size / time_s
