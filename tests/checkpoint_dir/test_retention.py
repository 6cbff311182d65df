"""Retention keeps the newest, and one in every so many seconds, whatever the order in which checkpoints come."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from paceline.checkpoint_dir.retention import to_remove

GAPS = st.lists(st.integers(min_value=0, max_value=50), min_size=1, max_size=40)
KEEP = st.integers(min_value=1, max_value=5)
EVERY = st.one_of(st.none(), st.integers(min_value=1, max_value=200))


def history(gaps, keep, every):
    """Writes one checkpoint after the other, removes what may go, and yields what is there after each."""
    there, now = {}, 0
    for step, gap in enumerate(gaps, start=1):
        now += gap
        there[step] = now
        for old in to_remove(there, keep=keep, keep_every_s=every):
            del there[old]
        yield now, dict(there)


@given(GAPS, KEEP, EVERY)
def test_the_newest_stay(gaps, keep, every):
    for number, (_, there) in enumerate(history(gaps, keep, every), start=1):
        assert set(range(max(1, number - keep + 1), number + 1)) <= set(there)


@given(GAPS, KEEP)
def test_without_a_time_nothing_else_stays(gaps, keep):
    for _, there in history(gaps, keep, None):
        assert len(there) <= keep


@given(GAPS, KEEP, st.integers(min_value=50, max_value=200))
def test_from_every_time_on_there_is_one_not_much_older(gaps, keep, every):
    """Gaps are 50 at most: within `every` + 50 before any moment since the first there is one that stays."""
    *_, (now, there) = history(gaps, keep, every)
    times = sorted(there.values())
    assert all(later - earlier < every + 50 for earlier, later in pairwise(times))
    assert times[0] == gaps[0] and times[-1] == now


@given(GAPS, KEEP, st.integers(min_value=1, max_value=200))
def test_of_the_older_ones_no_two_are_closer_than_that(gaps, keep, every):
    for _, there in history(gaps, keep, every):
        older = sorted(there.values())[: -keep or None]
        assert all(later - earlier >= every for earlier, later in pairwise(older))


@given(GAPS, KEEP, EVERY)
def test_what_is_removed_was_there_and_asking_again_removes_nothing(gaps, keep, every):
    created = {step: sum(gaps[:step]) for step in range(1, len(gaps) + 1)}
    removed = to_remove(created, keep=keep, keep_every_s=every)
    assert removed == sorted(set(removed) & set(created))
    left = {step: when for step, when in created.items() if step not in removed}
    assert to_remove(left, keep=keep, keep_every_s=every) == []
