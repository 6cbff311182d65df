import os
import subprocess
import sys

import pytest

from paceline import __version__
from paceline.errors import ConfigurationRefused, LimitReached, WorkerFailed


def test_version(call):
    assert call("--version").out == f"paceline {__version__}\n"


def test_python_dash_m_is_the_same_program():
    done = subprocess.run([sys.executable, "-m", "paceline", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"paceline {__version__}\n"


def test_help_names_every_command(call):
    result = call("--help")
    assert result.code == 0
    assert all(f"\n  {name}" in result.out for name in ("run", "tune", "explain", "cluster", "doctor"))


@pytest.mark.parametrize("args", [["clustr"], ["--no-such"], ["run", "--wokers", "2", "x"], ["cluster", "chekc"]])
def test_a_misspelt_word_is_usage_and_says_what_was_meant(call, args):
    result = call(*args)
    assert result.code == 2
    assert "Traceback" not in result.err
    assert args == ["--no-such"] or "id you mean" in result.err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigurationRefused("no", got="x", fix="y"), 78),
        (WorkerFailed("rank 1 died", exit_code=137), 137),
        (LimitReached("late"), 124),
        (RuntimeError("oops"), 70),
        (KeyboardInterrupt(), 130),
    ],
)
def test_each_error_ends_with_its_code_and_without_a_traceback(call, script, error, code):
    result = call("run", script, error=error)
    assert result.code == code
    assert "Traceback" not in result.err
    assert result.out == ""
    if code != 130:
        assert str(error).splitlines()[0] in result.err


def test_debug_shows_the_traceback(call, script):
    assert "Traceback" in call("--debug", "run", script, error=ConfigurationRefused("no")).err


def test_debug_behind_the_script_is_the_scripts(call, script):
    result = call("run", script, "--debug")
    assert result.asked[0].script_args == ("--debug",)


@pytest.mark.parametrize("code", [0, 1, 3, 137, 143])
def test_the_exit_code_of_the_job_is_ours(call, script, code):
    assert call("run", script, code=code).code == code


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "args", [("--help",), ("--version",), ("cluster", "show"), ("run", "--help"), ("run", "--dry-run", __file__)]
)
def test_an_output_that_cannot_be_written_is_said_and_no_fault_of_ours(args, unbuffered):
    environ = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    command = [sys.executable, "-m", "paceline", *args]
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run(command, env=environ, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "paceline: standard output cannot be written: No space left on device"
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr


def test_a_message_that_cannot_be_written_changes_no_exit_code():
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([sys.executable, "-m", "paceline", "clustr"], stderr=full, check=False)
    assert done.returncode == 2


def test_a_reader_that_has_enough_hears_nothing():
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "paceline", "--help"]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, "")


def test_another_error_of_the_system_is_still_ours(call, script):
    result = call("run", script, error=OSError(28, "No space left on device"))
    assert result.code == 70
    assert "an error of paceline itself" in result.err
