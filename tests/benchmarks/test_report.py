import json

from benchmarks import machine, report
from benchmarks.spread import Spread

TITLES = {"a": "First", "b": "Second"}
MACHINE = {
    "date": "2026-01-02", "cpu": "A CPU", "num_cores": 2, "memory_gib": 8, "load_before": 0.1,
    "versions": {"Python": "3.12"},
}  # fmt: skip


def section(title="First", body="text", load=0.1):
    data = {"machine": {**MACHINE, "load_before": load}, "command": "python benchmarks/run.py a", "rounds": 3}
    return report.section(title, body, data)


def test_what_was_never_measured_says_so():
    page = report.merge("", {"a": section()}, TITLES)
    assert page.count(report.NOT_YET) == 1
    assert page.index("## First") < page.index("## Second") < page.index(report.NOT_YET)


def test_a_part_that_was_not_run_again_stays():
    before = report.merge("", {"a": section(body="old a"), "b": section("Second", "old b")}, TITLES)
    after = report.merge(before, {"a": section(body="new a")}, TITLES)
    assert "new a" in after
    assert "old a" not in after
    assert "old b" in after
    assert report.merge(after, {}, TITLES) == after


def test_notes_written_by_hand_survive_a_new_measurement():
    begin, _ = report._NOTES
    page = report.merge("", {"a": section(body="old")}, TITLES)
    page = page.replace(begin + "\n", begin + "\n\nDid not work: this.\n\n```\n### Notes\n```\n", 1)
    once = report.merge(page, {"a": section(body="new")}, TITLES)
    assert "Did not work: this." in once
    assert "old" not in once.partition("## First")[2]
    assert report.merge(once, {"a": section(body="new")}, TITLES) == once


def test_a_busy_machine_is_told():
    assert "not idle" in section(load=1.5)
    assert "not idle" not in section(load=0.1)


def test_verdicts():
    found = Spread(median=0.5, low=0.1, high=9.0, count=3)
    assert report.verdict(found, at_most=0.5) == "yes"
    assert report.verdict(found, at_most=0.49) == "**no**"
    assert report.verdict(found, at_least=0.5) == "yes"
    assert report.verdict(found, at_least=0.51) == "**no**"
    assert report.verdict(None, at_least=1) == "not measured"


def test_a_cell_cannot_break_its_table():
    lines = report.table(["x"], [["a|b\nc"]]).splitlines()
    assert lines == ["| x |", "| --- |", "| a\\|b c |"]


def test_results_are_the_same_numbers_with_six_digits():
    data = {"series": {"x": {"values": [1.23456789, None, [4, 0.001]], "error": "a [1.5,\n 2] b"}}}
    text = report.compact_json(data)
    assert json.loads(text) == {"series": {"x": {"values": [1.23457, None, [4, 0.001]], "error": "a [1.5,\n 2] b"}}}
    assert "[4, 0.001]" in text


def test_what_a_virtual_machine_does_when_idle_is_told(tmp_path):
    driver, parameter = tmp_path / "current_driver", tmp_path / "guest_halt_poll_ns"
    assert "halt at once" in machine.idle_of_a_guest(driver, parameter)
    parameter.write_text("20000000\n")
    driver.write_text("none\n")
    assert "halt at once" in machine.idle_of_a_guest(driver, parameter)
    driver.write_text("haltpoll\n")
    assert "wait 20 ms before they halt" in machine.idle_of_a_guest(driver, parameter)
    parameter.write_text("0\n")
    assert "halt at once" in machine.idle_of_a_guest(driver, parameter)
