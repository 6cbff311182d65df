"""Where no collective may stand, asking for one is counted."""

from __future__ import annotations

import threading

from paceline.collectives.forbidden import is_forbidden, no_collectives


def test_attempts_are_counted_inside_only():
    assert not is_forbidden()
    with no_collectives() as attempts:
        assert attempts.count == 0
        assert is_forbidden()
        assert is_forbidden()
    assert attempts.count == 2
    assert not is_forbidden()


def test_an_inner_block_counts_for_itself():
    with no_collectives() as outer:
        with no_collectives() as inner:
            is_forbidden()
        is_forbidden()
    assert (outer.count, inner.count) == (1, 1)


def test_other_threads_are_free():
    seen = []
    with no_collectives():
        thread = threading.Thread(target=lambda: seen.append(is_forbidden()))
        thread.start()
        thread.join()
    assert seen == [False]
