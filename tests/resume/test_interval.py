import math

import pytest

from paceline.resume.interval import ASSUMED_MTBF_S, LEAST_S, MOST_S, Interval, best_interval_s


def test_the_interval_costs_least():
    chosen = best_interval_s(1.0, 2)

    def cost(interval):
        return 1.0 / interval + interval / 2 / (ASSUMED_MTBF_S / 2)

    assert LEAST_S < chosen < MOST_S
    assert all(cost(chosen) <= cost(chosen * factor) for factor in (0.8, 0.99, 1.01, 1.25))


@pytest.mark.parametrize(("cost_s", "expected"), [(0.0, LEAST_S), (1e6, MOST_S)])
def test_within_bounds(cost_s, expected):
    assert best_interval_s(cost_s, 1) == expected


def test_auto_learns_what_one_costs_and_says_so():
    interval = Interval.of("auto")
    assert interval.is_over(LEAST_S) and not interval.is_over(LEAST_S - 1)
    assert interval.costs(1.0)
    assert math.isclose(interval.chosen_s, best_interval_s(1.0, 1))
    assert not interval.costs(1.05)
    assert "assumed 24 h" in interval.describe()


def test_what_was_asked_for_is_not_changed():
    steps, seconds = Interval.of({"steps": 5}), Interval.of({"seconds": 60.0})
    assert not steps.costs(9.0) and not seconds.costs(9.0)
    assert [steps.steps_left(step) for step in (0, 4, 5, 7)] == [5, 1, 5, 3]
    assert seconds.steps_left(3) is None and seconds.is_over(60) and not seconds.is_over(59)
    assert not steps.is_over(1e9)
