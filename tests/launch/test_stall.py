"""When a job stands still, by its workers' pages."""

from __future__ import annotations

import pytest

from paceline.journal.status import Phase, Status
from paceline.launch.stall import BEFORE_STEPS_S, LEAST_S, PATIENCE, TIMES, StallWatch


def pages(step, phase=Phase.STEP, other=None):
    return {
        0: Status(phase=phase, step=step, collectives=step),
        1: Status(phase=other or phase, step=step, collectives=step),
    }


def run(watch, seconds_a_step, steps=20, until=0.0):
    """Moves the pages on, then lets them stand until a time; returns for how long they have stood."""
    now = 0.0
    for step in range(1, steps + 1):
        watch.look(pages(step), now)
        now += seconds_a_step
    return watch.look(pages(steps), now + until)


def test_the_limit_is_learned_from_the_longest_step():
    watch = StallWatch(None)
    assert run(watch, 0.1, until=500.0) == pytest.approx(500.1)  # the last step has stood for a tenth already
    assert watch.limit_s() == LEAST_S
    watch = StallWatch(None)
    run(watch, 5.0)
    assert watch.limit_s() == pytest.approx(TIMES * 5.0)
    watch = StallWatch(None)
    run(watch, 1000.0)
    assert watch.limit_s() == pytest.approx(BEFORE_STEPS_S + 3000.0)


def test_an_asked_limit_is_taken_as_it_is():
    watch = StallWatch(5.0)
    run(watch, 20.0)
    assert watch.limit_s() == 5.0


def test_a_page_that_changes_is_progress():
    watch = StallWatch(5.0)
    watch.look(pages(1), 0.0)
    assert watch.look(pages(1), 4.0) == 4.0
    assert watch.look(pages(2), 8.0) == 0.0


def test_before_the_first_step_there_is_more_time():
    watch = StallWatch(None)
    watch.look(pages(0), 0.0)
    assert watch.limit_s() == BEFORE_STEPS_S
    watch.look(pages(0, Phase.TRACE), 1.0)
    assert watch.limit_s() == BEFORE_STEPS_S * PATIENCE


def test_a_callback_that_others_wait_for_may_take_longer_unless_it_is_stopped():
    watch = StallWatch(None)
    run(watch, 0.1)
    late = {
        0: Status(phase=Phase.REDUCE, step=20, collectives=21),
        1: Status(phase=Phase.CALLBACK, step=20, collectives=20),
    }
    watch.look(late, 2.0)
    assert watch.limit_s() == LEAST_S * PATIENCE
    assert watch.limit_s(stopped=[1]) == LEAST_S


def test_a_script_between_its_fits_has_no_limit_unless_it_is_stopped():
    watch = StallWatch(5.0)
    watch.look(pages(7, Phase.SCRIPT), 0.0)
    assert watch.limit_s() is None
    assert watch.limit_s(stopped=[0]) == 5.0


def test_a_clock_that_is_set_is_not_asked():
    # Pages carry the worker's clock, which may jump; the watch takes a monotonic time and compares pages only.
    watch = StallWatch(5.0)
    watch.look({0: Status(step=1, updated=2e9)}, 0.0)
    assert watch.look({0: Status(step=2, updated=1e9)}, 1.0) == 0.0
    assert watch.look({0: Status(step=2, updated=1e9)}, 3.0) == 2.0
