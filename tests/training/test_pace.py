"""Groups grow to the time that they may take, and all workers go by the chief's clock."""

from __future__ import annotations

from paceline.training.pace import TARGET_S, Loop, Pace, current_loop, running


def run(pace, step_s, groups, traces_s=5.0):
    """Returns the sizes of groups whose steps take `step_s`; the first of a kind takes the time of tracing as well."""
    sizes, kinds = [], set()
    for _ in range(groups):
        size = pace.following()
        sizes.append(size)
        seconds = size * step_s + (traces_s if (size > 1) not in kinds else 0)
        kinds.add(size > 1)
        pace.ran(size, seconds)
    return sizes


def allowed(agree=lambda number: number):
    pace = Pace(agree)
    pace.allowed = True
    return pace


def test_short_steps_are_put_together():
    assert run(allowed(), 0.001, 8) == [1, 1, 8, 8, 64, 100, 100, 100]


def test_long_steps_run_one_by_one():
    assert run(allowed(), 1.0, 5) == [1] * 5


def test_a_step_that_becomes_slow_makes_groups_small_again():
    pace = allowed()
    run(pace, 0.001, 8)
    assert run(pace, 0.01, 100)[-1] == round(TARGET_S / 0.01)


def test_where_a_callback_looks_at_batches_each_is_a_call():
    pace = Pace(lambda number: number)
    assert run(pace, 0.001, 5) == [1] * 5
    assert not pace.measures


def test_the_chief_decides():
    asked = []

    def chief(number):
        asked.append(number)
        return 3

    assert run(allowed(chief), 0.001, 5)[-1] == 3
    assert len(asked) == 3


def test_loops_stand_in_each_other():
    outer, inner = Loop(allowed()), Loop(allowed())
    with running(outer):
        with running(inner):
            assert current_loop() is inner
        with running(None):
            assert current_loop() is None
        assert current_loop() is outer
    assert current_loop() is None
