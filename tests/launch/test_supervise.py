"""Failures, limits and signals, with real processes and real kills."""

import json
import os
import signal
import time
from pathlib import Path

import pytest


def test_first_failure_is_named_with_its_lines(start_job):
    job = start_job({0: "late_raise", 1: "raise"})
    assert job.finish() == 1
    assert "worker 1 of 2 on" in job.err and "failed first: exit code 1" in job.err
    assert "  | ValueError: boom on 1" in job.err
    assert "worker 0 failed after it" in job.err


def test_the_others_are_ended(start_job):
    job = start_job({0: "wait", 1: "exit:7"})
    began = time.monotonic()
    assert job.finish() == 7
    assert time.monotonic() - began < 6
    assert "worker 1 of 2 on" in job.err and "exit code 7" in job.err
    assert "worker 0 was ended; it was in REDUCE, step 7" in job.err


def test_one_error_of_both_is_shown_once(start_job):
    job = start_job({0: "raise:the same", 1: "raise:the same"})
    assert job.finish() == 1
    assert "workers 0 and 1 of 2" in job.err and "failed alike" in job.err
    assert job.err.count("ValueError: the same") == 1


def test_a_killed_worker_is_seen(start_job):
    job = start_job({0: "wait", 1: "wait"})
    job.wait_until_ready()
    job.worker(1).kill()
    assert job.finish() == 137
    assert "worker 1 of 2" in job.err and "ended by SIGKILL" in job.err


@pytest.mark.parametrize(("how", "code"), [("0.1", 137), ("0.1:3", 3), ("1.0:3", 3)])
def test_a_peer_that_notices_an_end_first_is_not_its_cause(start_job, how, code):
    job = start_job({0: f"late_exit:{how}", 1: "lose_peer"})
    assert job.finish() == code
    assert "worker 0 of 2" in job.err and "worker 1 failed after it: exit code 1" in job.err


def test_a_crash_in_c_code_leaves_stacks(start_job):
    job = start_job({0: "wait", 1: "suicide:SIGSEGV"})
    assert job.finish() == 139
    assert "ended by SIGSEGV" in job.err and "  | last words" in job.err
    assert "do_suicide" in (job.run_directory / "attempts/0/worker-1/stacks/crash.txt").read_text()


def test_a_worker_that_ignores_signals_is_killed_after_the_grace(start_job):
    job = start_job({0: "ignore", 1: "raise"}, grace_s=1.0)
    began = time.monotonic()
    assert job.finish() == 1
    assert time.monotonic() - began < 6


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_everything_soon(start_job, number, code):
    job = start_job({0: "family", 1: "stuck"})
    job.wait_until_ready()
    began = time.monotonic()
    job.process.send_signal(number)
    assert job.finish() == code
    assert time.monotonic() - began < 10
    assert number.name in job.err
    assert not job.members()


@pytest.mark.parametrize("delay_s", [0.0, 0.1, 0.2, 0.4])
def test_ctrl_c_before_the_script_shows_no_traceback(start_job, delay_s):
    job = start_job({0: "never_ready", 1: "never_ready"})
    job.wait_for(lambda: any("paceline.worker" in process.cmdline() for process in job.members()))
    time.sleep(delay_s)
    job.process.send_signal(signal.SIGINT)
    assert job.finish() == 130
    assert "Traceback" not in job.err


def test_ctrl_c_ends_workers_that_ignore_it(start_job):
    job = start_job({0: "ignore", 1: "ignore"})
    job.wait_until_ready()
    began = time.monotonic()
    job.process.send_signal(signal.SIGINT)
    assert job.finish() == 130
    assert time.monotonic() - began < 10


@pytest.mark.parametrize(
    # Longer than a deaf worker gets (1.5 s) and within the patience after Ctrl-C (7 s); beyond that, within --grace.
    ("number", "code", "seconds"),
    [(signal.SIGINT, 130, 4), (signal.SIGTERM, 143, 8)],
)
def test_handlers_of_the_script_have_their_time(start_job, number, code, seconds):
    job = start_job({0: f"own_handler:{seconds}", 1: f"own_handler:{seconds}"})
    job.wait_until_ready()
    time.sleep(0.2)
    job.process.send_signal(number)
    assert job.finish() == code
    assert job.out == "saved\n"


@pytest.mark.parametrize(
    # Within the patience after Ctrl-C (6 s); after SIGTERM beyond that, within --grace.
    ("number", "code", "seconds"),
    [(signal.SIGINT, 130, 4), (signal.SIGTERM, 143, 8)],
)
def test_finally_blocks_have_their_time(start_job, number, code, seconds):
    job = start_job({0: f"finally:{seconds}", 1: f"finally:{seconds}"})
    job.wait_until_ready()
    time.sleep(0.2)
    job.process.send_signal(number)
    assert job.finish() == code
    assert job.out == "saved\n"


@pytest.mark.parametrize("grace_s", [1.0, 3.0])
def test_the_grace_time_ends_finally_blocks(start_job, grace_s):
    job = start_job({0: "finally:60", 1: "finally:60"}, grace_s=grace_s)
    job.wait_until_ready()
    time.sleep(0.2)
    began = time.monotonic()
    job.process.send_signal(signal.SIGTERM)
    assert job.finish() == 143
    assert grace_s - 0.1 < time.monotonic() - began < grace_s + 3  # the rest is the end of processes on a busy machine
    assert job.out == ""


@pytest.mark.parametrize(("workers", "out"), [(1, "saved\n"), (2, "")])
def test_only_a_worker_without_peers_may_end_its_step(start_job, workers, out):
    """With peers, what does not run Python is taken to be stuck in a collective, and ended after 1.5 s."""
    job = start_job({0: "long_step:6", 1: "long_step:6"}, workers=workers)
    job.wait_until_ready(workers)
    job.process.send_signal(signal.SIGTERM)
    assert job.finish() == 143
    assert job.out == out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_exit_handlers_run_shows_nothing_of_ours(start_job, number):
    job = start_job({0: "slow_exit", 1: "slow_exit"}, grace_s=3.0)
    job.wait_until_ready()
    time.sleep(0.3)
    job.process.send_signal(number)
    assert job.finish() == 128 + number
    assert "Traceback" not in job.err


def test_a_script_that_closes_everything_shows_no_thread_of_ours(start_job):
    job = start_job({0: "close_all", 1: "close_all"}, all_output=True)
    assert job.finish() == 0
    assert "Traceback" not in job.err


def test_an_error_without_a_text_is_told(start_job):
    job = start_job({0: "wait", 1: "no_text"})
    assert job.finish() == 1
    assert "NoTextError: <" in job.err  # how Python says it depends on its version
    assert "crash.py" not in job.err
    assert '"error"' in (job.run_directory / "attempts/0/worker-1/journal.jsonl").read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_reader_that_does_not_read_holds_up_no_end(start_job, number):
    reader, writer = os.pipe()
    job = start_job({0: "print:300000", 1: "wait"}, popen={"stdout": writer, "stderr": writer})
    os.close(writer)
    job.wait_until_ready()
    time.sleep(0.5)
    began = time.monotonic()
    job.process.send_signal(number)
    assert job.process.wait(15) == 128 + number
    assert time.monotonic() - began < 10
    os.close(reader)


def test_a_slow_reader_gets_the_end_of_the_output(start_job):
    reader, writer = os.pipe()
    job = start_job({0: "print:180000"}, popen={"stdout": writer})  # two full pipes and what we hold
    os.close(writer)
    time.sleep(8)  # more than the launcher waits for the workers' last words
    with os.fdopen(reader, "rb") as file:
        assert file.read() == b"x" * 180000
    assert job.finish() == 0


def test_a_second_ctrl_c_kills_at_once(start_job):
    job = start_job({0: "ignore", 1: "ignore"})
    job.wait_until_ready()
    job.process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    began = time.monotonic()
    job.process.send_signal(signal.SIGINT)
    assert job.finish() == 130
    assert time.monotonic() - began < 3


@pytest.mark.parametrize("behaviours", [{0: "wait", 1: "stuck"}, {0: "family", 1: "ignore"}])
def test_workers_die_with_their_launcher(start_job, behaviours):
    job = start_job(behaviours)
    job.wait_until_ready()
    job.process.kill()
    job.wait_for(lambda: not job.members(), timeout_s=8)


def test_what_a_script_leaves_behind_ends_with_the_job(start_job):
    job = start_job({0: "family:end"})
    assert job.finish() == 0
    assert not job.members()


def test_never_ready_is_named_at_the_start_limit(start_job):
    job = start_job({1: "never_ready", 0: "wait"}, start_timeout_s=1.5)
    assert job.finish() == 124
    assert "Worker 1 of 2" in job.err and "start limit of 1.5 s" in job.err
    assert "worker 1 in CONNECT" in job.err
    stacks = (job.run_directory / "attempts/0/worker-1/stacks/request.txt").read_text()
    assert "do_never_ready" in stacks


def test_a_worker_left_alone_in_a_collective_is_named(start_job):
    job = start_job({0: "end_alone", 1: "wait"}, end_limit_s=2)
    assert job.finish() == 124
    assert "Worker 0 has ended the script, worker 1 waits in step 7." in job.err


def test_a_living_worker_that_is_waited_for_is_named_once(start_job):
    job = start_job({0: "comes_late:4", 1: "comes_late:4"}, wait_limit_s=1)
    assert job.finish() == 0
    assert job.err.count("worker 0 has waited 1 s for worker 1: worker 1 is in CALLBACK") == 1


def test_nobody_is_named_where_all_come_in_time(start_job):
    job = start_job({0: "comes_late:1.5", 1: "comes_late:1.5"}, wait_limit_s=10)
    assert job.finish() == 0
    assert "waited" not in job.err


def test_two_mpi_ranks_open_no_internet_socket(start_job):
    pytest.importorskip("mpi4py")
    job = start_job({0: "mpi", 1: "mpi"}, communication="mpi", all_output=True)
    assert job.finish() == 0
    answers = [json.loads(line.partition("MPI ")[2]) for line in job.out.splitlines()]
    assert answers == [{"total": 3, "size": 2, "internet": []}] * 2


def test_a_rank_that_fails_does_not_wait_for_its_peers(start_job):
    """MPI's own exit handler would: it waits for all ranks."""
    pytest.importorskip("mpi4py")
    job = start_job({0: "mpi_wait", 1: "mpi_raise"}, communication="mpi")
    began = time.monotonic()
    assert job.finish() == 1
    assert time.monotonic() - began < 6
    assert "ValueError: boom in MPI" in job.err


def test_killed_mpi_ranks_leave_no_shared_memory(start_job):
    pytest.importorskip("mpi4py")
    job = start_job({0: "mpi:60", 1: "mpi:60"}, communication="mpi", all_output=True)
    job.wait_for(lambda: sum("MPI" in p.read_text() for p in job.folder.glob("runs/*/attempts/0/*/stdout.log")) == 2)
    mapped = {m.path for rank in range(2) for m in job.worker(rank).memory_maps() if "/dev/shm/mpich" in m.path}
    job.wait_for(lambda: not any(Path(path.partition(" (deleted)")[0]).exists() for path in mapped), timeout_s=3)
    job.process.kill()
    job.wait_for(lambda: not job.members(), timeout_s=8)
