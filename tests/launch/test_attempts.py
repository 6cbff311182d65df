"""Jobs that are started again, with real processes and a session that stands in."""

from __future__ import annotations

import json
import signal
import time


def test_a_killed_worker_has_the_job_started_again(start_job):
    started = start_job({0: "first:wait", 1: "first:suicide:SIGKILL"}, max_restarts=3)
    assert started.finish(60) == 0
    assert "worker 1 of 2" in started.err and "SIGKILL" in started.err
    assert "a worker was killed: restart 1 of 3 in 1 s, from the beginning of the script" in started.err
    assert "attempt 1 ends well" in started.out
    assert ", 1 restart\n" in started.err
    jobs = [json.loads(path.read_text()) for path in sorted(started.run_directory.glob("attempts/*/job.json"))]
    assert [given["attempt"] for given in jobs] == [0, 1]
    assert jobs[0]["seed"] == jobs[1]["seed"]
    assert jobs[0]["checkpoint"]["dir"] == jobs[1]["checkpoint"]["dir"] == f"{started.run_directory}/checkpoints"


def test_an_error_of_the_script_is_not_tried_again(start_job):
    started = start_job({0: "first:wait", 1: "first:raise:boom"}, max_restarts=3)
    assert started.finish(60) == 1
    assert "not started again: an error of the script would come again" in started.err
    assert len(list(started.run_directory.glob("attempts/*"))) == 1


def test_the_budget_ends(start_job):
    behaviour = "first:suicide:SIGKILL;suicide:SIGSEGV;advances"
    started = start_job({0: "first:wait;wait", 1: behaviour}, max_restarts=1)
    assert started.finish(60) == 128 + signal.SIGSEGV
    assert "not started again: it was started again 1 times (--max-restarts 1)" in started.err


def test_a_stopped_worker_is_named_its_stacks_are_kept_and_the_job_goes_on(start_job):
    began = time.monotonic()
    started = start_job({0: "first:wait", 1: "first:stop"}, max_restarts=1, stall_timeout_s=3.0, grace_s=1.0)
    assert started.finish(90) == 0
    assert time.monotonic() - began < 60
    assert "Worker 1 stands still, the others wait" in started.err
    assert "worker 1 in STEP, step 10, stopped (SIGSTOP)" in started.err
    assert "a limit was reached: restart 1 of 1" in started.err
    stacks = started.run_directory / "attempts" / "0"
    assert "do_wait" in (stacks / "worker-0" / "stacks" / "request.txt").read_text()
    assert "state T (stopped)" in (stacks / "worker-1" / "stacks" / "kernel.txt").read_text()
    native = (stacks / "worker-1" / "stacks" / "native.txt").read_text()
    assert "do_stop" in native or "ermission" in native  # ptrace may be forbidden here; then it says so


def test_ctrl_c_between_two_attempts_ends_the_job(start_job):
    started = start_job(
        {0: "first:wait;wait", 1: "first:suicide:SIGKILL;suicide:SIGKILL;suicide:SIGKILL"}, max_restarts=9
    )
    deadline = time.monotonic() + 60
    while not (started.folder / "runs").exists() or not list(started.run_directory.glob("attempts/1/job.json")):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    # The second failure in one place: the wait is 2 s.
    time.sleep(1.0)
    started.process.send_signal(signal.SIGINT)
    assert started.finish(30) == 130
