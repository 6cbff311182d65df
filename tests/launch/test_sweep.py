"""What is measured, in which order, and what becomes of jobs that fail; a function stands in for the launcher."""

import json
from pathlib import Path

import pytest

from paceline.errors import ConfigurationRefused, UsageError, WorkerFailed
from paceline.launch.sweep import SweepOptions, sweep
from paceline.tuning.ring import TRIED

REFUSED = ConfigurationRefused("MPI cannot be used: a package is missing.", got="no mpich")


class Launcher:
    """Answers each job with what ``ends`` says of its transport: an exit code, or an error."""

    def __init__(self, **ends):
        self.ends = ends
        self.asked = []
        self.told = []

    def __call__(self, options):
        self.asked.append(options)
        end = self.ends.get(options.communication, 0)
        if isinstance(end, Exception):
            raise end
        out, work = options.script_args
        if end == 0:
            Path(out).write_text(json.dumps([[size, self.time_s()] for size, _ in json.loads(work)]))
        return end

    def time_s(self):
        return 0.5

    def sweep(self, **options):
        return sweep(SweepOptions(**options), self, self.told.append)


def test_every_contestant_has_a_job_of_its_own():
    launcher = Launcher()
    results = launcher.sweep(num_workers=3)
    assert [result.contestant.tuning for result in results] == [*TRIED, None]
    there = [*(("ring", tuning) for tuning in TRIED), ("mpi", None)]
    assert [(asked.communication, asked.ring) for asked in launcher.asked] == [*there, *reversed(there)]
    sizes = list(results[0].times_s)
    assert (sizes[0], sizes[-1]) == (4, 64 * 2**20)
    assert all(result.times_s == dict.fromkeys(sizes, 0.5) for result in results)
    assert {(asked.workers, asked.devices, asked.quiet) for asked in launcher.asked} == {(3, (), True)}
    assert len({asked.run_dir for asked in launcher.asked}) == len(there) * 2
    assert not any(Path(asked.run_dir).parent.exists() for asked in launcher.asked)
    assert len(launcher.told) == len(there) * 2


@pytest.mark.parametrize(
    ("communication", "transports"), [("ring", {"ring"}), ("mpi", {"mpi"}), ("all", {"ring", "mpi"})]
)
def test_quick_is_a_few_sizes_once(communication, transports):
    launcher = Launcher()
    results = launcher.sweep(communication=communication, is_quick=True)
    assert {result.contestant.transport for result in results} == transports
    assert len(results) <= 4
    work = json.loads(launcher.asked[0].script_args[1])
    assert [repetitions for _, repetitions in work] == [1, 1, 1]


def test_a_transport_that_cannot_be_used_is_left_out_and_said():
    launcher = Launcher(mpi=REFUSED)
    assert {result.contestant.transport for result in launcher.sweep(is_quick=True)} == {"ring"}
    assert launcher.told[-1] == "mpi is left out: MPI cannot be used: a package is missing. (no mpich)"


def test_what_was_asked_for_by_name_is_refused_instead():
    with pytest.raises(ConfigurationRefused, match="package is missing"):
        Launcher(mpi=REFUSED).sweep(communication="mpi")
    launcher = Launcher(ring=REFUSED)
    with pytest.raises(ConfigurationRefused):
        launcher.sweep()
    assert len(launcher.asked) == 1


def test_of_two_turns_the_lesser_time_counts():
    launcher = Launcher()
    clock = iter([3.0] * 13 + [2.0] * 6 + [4.0] * 7)
    launcher.time_s = lambda: next(clock)
    (result,) = launcher.sweep(communication="mpi")
    assert list(result.times_s.values()) == [2.0] * 6 + [3.0] * 7


def test_what_fails_has_no_second_turn():
    launcher = Launcher(mpi=1)
    launcher.sweep()
    assert [asked.communication for asked in launcher.asked].count("mpi") == 1


def test_what_fails_at_its_second_turn_is_left_out():
    launcher = Launcher()
    launcher.time_s = lambda: 0.5 if launcher.asked[-1].ring else launcher.ends.update(mpi=1) or 0.5
    assert {result.contestant.transport for result in launcher.sweep()} == {"ring"}


def test_a_job_that_fails_is_left_out_and_said():
    launcher = Launcher(mpi=1)
    assert {result.contestant.transport for result in launcher.sweep(is_quick=True)} == {"ring"}
    assert launcher.told[-1] == "mpi is left out: its job ended with exit code 1"


def test_nothing_measured_is_an_error_with_the_last_code():
    with pytest.raises(WorkerFailed, match="Nothing could be measured") as caught:
        Launcher(ring=124, mpi=3).sweep(is_quick=True)
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("code", [130, 143])
def test_a_signal_ends_it_at_once(code):
    launcher = Launcher(ring=code)
    with pytest.raises(WorkerFailed, match="signal") as caught:
        launcher.sweep()
    assert (caught.value.exit_code, len(launcher.asked)) == (code, 1)


@pytest.mark.parametrize("options", [{"num_workers": 1}, {"num_workers": -2}, {"communication": "nccl"}])
def test_nonsense_is_usage(options):
    with pytest.raises(UsageError):
        SweepOptions(**options)
