from hypothesis import given
from hypothesis import strategies as st

from benchmarks.spread import best, by_round, spread

NUMBERS = st.floats(min_value=0.001, max_value=1e9)


@given(st.lists(st.none() | NUMBERS))
def test_the_median_lies_between_the_ends_and_failed_rounds_do_not_count(values):
    measured = [value for value in values if value is not None]
    found = spread(values)
    if not measured:
        assert found is None
        return
    assert found.low == min(measured)
    assert found.high == max(measured)
    assert found.low <= found.median <= found.high
    assert found.count == len(measured)


def test_ratios_are_taken_within_a_round():
    # The machine was twice as slow in the second round: the ratio does not show it.
    ratios = by_round(lambda a, b: a / b, [8.0, 4.0, None], [2.0, 1.0, 3.0])
    assert ratios == [4.0, 4.0, None]


def test_the_best_is_the_one_with_the_largest_median():
    assert best({"lucky once": [1.0, 1.0, 9.0], "steady": [2.0, 2.0, 2.0]}) == "steady"
    assert best({}) is None
