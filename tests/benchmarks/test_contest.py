"""Contestants are real processes here, too: short ones."""

import os
import sys
import time

import pytest

from benchmarks import contest
from benchmarks.contest import Contestant, Settings
from benchmarks.processes import Process


def contestant(*programs, packages=(), env=None, limit_s=60.0, cores=()):
    started = tuple(Process(argv=(sys.executable, "-c", program, "{port}"), cores=cores) for program in programs)
    return Contestant(key="it", title="It", processes=started, packages=packages, env=env or {}, limit_s=limit_s)


def test_results_of_all_processes_are_read_in_their_order():
    outcome = contest.run_once(contestant("print('RESULT [1.0]')", "print('bar RESULT [2.0]')"))
    assert outcome.results == [[1.0], [2.0]]
    assert outcome.error == ""


def test_processes_get_the_variables_the_core_and_a_port():
    value = "[os.environ['X'], len(os.sched_getaffinity(0)), sys.argv[1]]"
    program = f"import json, os, sys; print('RESULT', json.dumps({value}))"
    before = os.sched_getaffinity(0)
    (value,) = contest.run_once(contestant(program, env={"X": "y"}, cores=(0,))).results
    assert value[:2] == ["y", 1]
    assert 20_000 <= int(value[2]) < 32_000
    assert os.sched_getaffinity(0) == before


def test_one_that_fails_shows_its_last_line_and_the_other_is_ended(monkeypatch):
    monkeypatch.setattr("benchmarks.processes._AFTER_FAILURE_S", 0.5)
    began = time.monotonic()
    outcome = contest.run_once(contestant("import time; time.sleep(300)", "raise ValueError('no such thing')"))
    assert outcome.error == "exit code 1: ValueError: no such thing"
    assert time.monotonic() - began < 60  # the other would have slept for 300 s


def test_one_that_does_not_end_is_ended():
    outcome = contest.run_once(contestant("import time; time.sleep(300)", limit_s=0.5))
    assert outcome.error == "no end within 0 s"


def test_one_that_prints_nothing_has_failed():
    assert contest.run_once(contestant("pass")).error == "printed no result"


def test_a_missing_package_is_told_and_a_failure_counted():
    contestants = [
        contestant("print('RESULT 1')", packages=("no_such_package",)),
        Contestant(key="bad", title="Bad", processes=contestant("raise SystemExit('bad')").processes),
        Contestant(key="good", title="Good", processes=contestant("print('RESULT 7')").processes),
    ]
    series = contest.contest(contestants, 2, lambda outcome: outcome.results[0], unscored_rounds=1)
    assert series["it"].state() == "not installed: no_such_package"
    assert series["it"].values == []
    assert series["bad"].state() == "failed in 2 of 2: exit code 1: bad"
    assert series["good"].values == [7, 7]
    assert series["good"].state() == ""


def test_contestants_take_turns(tmp_path):
    def note(name):
        return f"open({str(tmp_path / 'order')!r}, 'a').write({name!r}); print('RESULT 1')"

    contestants = [Contestant(key=name, title=name, processes=contestant(note(name)).processes) for name in ("A", "B")]
    contest.contest(contestants, 2, lambda outcome: 1)
    assert (tmp_path / "order").read_text() == "ABAB"


def test_jit_is_a_row_of_its_own_where_paceline_knows_it():
    assert [suffix for suffix, *_ in Settings(has_jit=False).variants()] == [""]
    ((_, _, plain), (_, _, jit)) = Settings(has_jit=True, paceline_options=("--x",)).variants()
    assert plain == ("--x",)
    assert jit == ("--x", "--jit", "on")


def test_rounds_are_checked():
    with pytest.raises(SystemExit, match="rounds"):
        Settings(rounds=0)
