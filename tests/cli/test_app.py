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
    assert all(f"\n  {name}" in result.out for name in ("run", "tune", "cluster", "doctor"))


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
