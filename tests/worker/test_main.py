"""The worker process by itself, without a launcher."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
SESSION = """
import atexit, sys, time
def square(number):
    return number * number
def main(job, rank, journal, status):
    if job["script"]["argv"] == ["joblib"]:
        from joblib import Parallel, delayed
        print(Parallel(n_jobs=2)(delayed(square)(i) for i in range(4)))
        return 3
    if job["script"]["argv"] == ["exit function"]:
        atexit.register(time.sleep, 60)
        return 3
    journal.event("ready")
    hot = [name for name in ("tensorflow", "numpy", "keras", "psutil") if name in sys.modules]
    print("hot", hot, "path", "" in sys.path)
    if job["script"]["argv"] == ["sleep"]:
        time.sleep(60)
    return 3
"""


@pytest.fixture
def start_worker(tmp_path):
    """Returns a function that starts one worker; no process is left at the end."""
    (tmp_path / "stand_in.py").write_text(SESSION)
    started = []

    def start(*, argv=(), more_args=(), workers=1, grace_s=30.0, **popen):
        job = {
            "schema": 1,
            "script": {"kind": "path", "target": "x.py", "argv": list(argv), "cwd": str(tmp_path)},
            "num_workers": workers,
            "cluster": {},
            "run_dir": str(tmp_path),
            "attempt": 0,
            "session_module": "stand_in",
            "limits": {"grace_s": grace_s},
        }
        (tmp_path / "job.json").write_text(json.dumps(job))
        environ = {
            **os.environ,
            "PYTHONPATH": f"{SOURCE}{os.pathsep}{tmp_path}",
            "PACELINE_JOB": str(tmp_path / "job.json"),
            "PACELINE_RANK": "0",
            **popen.pop("environ", {}),
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "paceline.worker", *more_args],
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **popen,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def wait_ready(folder):
    journal = folder / "attempts/0/worker-0/journal.jsonl"
    limit = time.monotonic() + 10
    while not (journal.exists() and '"ready"' in journal.read_text()):
        assert time.monotonic() < limit
        time.sleep(0.02)


def test_session_starts_cold_and_its_code_is_returned(start_worker):
    process = start_worker()
    out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err) == (3, "hot [] path False\n", "")


def test_a_failed_script_leaves_at_once_with_a_pool_of_processes(start_worker):
    process = start_worker(argv=["joblib"])
    out, err = process.communicate(timeout=20)  # without the limit for exit functions, which is 30 s
    assert (process.returncode, out, err) == (3, "[0, 1, 4, 9]\n", "")


def test_an_exit_function_does_not_hold_a_failed_script_for_ever(start_worker):
    process = start_worker(argv=["exit function"], grace_s=1.0)
    _, err = process.communicate(timeout=10)
    assert process.returncode == 3
    assert "exit functions have not ended within 1 s" in err


def test_without_a_job_it_is_refused(start_worker):
    process = start_worker(environ={"PACELINE_JOB": ""})
    _, err = process.communicate(timeout=10)
    assert process.returncode == 78
    assert "does not know which job" in err and "Traceback" not in err


@pytest.mark.parametrize(("workers", "code"), [(1, 3), (2, 78)])
def test_a_full_disk_ends_only_workers_that_others_read(start_worker, workers, code):
    """A page that nobody can read would let the others wait for ever."""
    process = start_worker(workers=workers, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
    _, err = process.communicate(timeout=10)
    assert process.returncode == code, err
    assert ("run directory cannot be written" in err) == (workers == 2)
    assert "Traceback" not in err


def test_it_ends_when_the_launchers_pipe_does(start_worker, tmp_path):
    reader, writer = os.pipe()
    process = start_worker(
        argv=["sleep"], more_args=[f"--lease-fd={reader}"], pass_fds=[reader], start_new_session=True
    )
    os.close(reader)
    wait_ready(tmp_path)
    os.close(writer)
    assert process.wait(timeout=8) == 143


def test_a_launcher_that_is_gone_already_is_noticed(start_worker):
    process = start_worker(argv=["sleep"], more_args=["--launcher-pid=1"])
    assert process.wait(timeout=8) == 143


def test_stacks_are_written_on_request(start_worker, tmp_path):
    process = start_worker(argv=["sleep"])
    wait_ready(tmp_path)
    process.send_signal(signal.SIGUSR1)
    stacks = tmp_path / "attempts/0/worker-0/stacks/request.txt"
    limit = time.monotonic() + 5
    while "stand_in.py" not in stacks.read_text():
        assert time.monotonic() < limit
        time.sleep(0.02)
    assert process.poll() is None


@pytest.mark.skipif(sys.version_info < (3, 11), reason="needs -P, which the launcher passes from Python 3.11 on")
def test_files_of_the_current_folder_do_not_shadow_modules(tmp_path):
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "paceline.worker"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SOURCE), "PACELINE_JOB": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 78
