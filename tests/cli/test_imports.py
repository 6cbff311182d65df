"""What a command imports decides how fast it starts, and whether TensorFlow's settings can still be made."""

import json
import subprocess
import sys

import pytest

from paceline.cli import app, checkpoint, cluster

CODE = """
import contextlib, io, json, sys
before = set(sys.modules)
with contextlib.redirect_stdout(io.StringIO()):
    from paceline.cli import main
    code = main(sys.argv[1:])
print(json.dumps([code, sorted({name.partition(".")[0] for name in set(sys.modules) - before})]))
"""
ALLOWED = set(sys.stdlib_module_names) | {"click", "paceline"}
TF_CONFIG = '{"cluster": {"worker": ["a:2222"]}, "task": {"type": "worker", "index": 0}}'
HELP = [
    [],
    *([name] for name in app.COMMANDS),
    *(["checkpoint", name] for name in checkpoint.COMMANDS),
    *(["cluster", name] for name in cluster.COMMANDS),
]


def imported_by(*args):
    done = subprocess.run([sys.executable, "-c", CODE, *args], capture_output=True, text=True, check=True)
    code, names = json.loads(done.stdout.splitlines()[-1])
    assert code == 0, done.stderr
    return set(names)


@pytest.mark.parametrize("command", HELP, ids=lambda command: " ".join(command) or "paceline")
def test_help_imports_click_and_the_standard_library_only(command):
    names = imported_by(*command, "--help")
    assert names - ALLOWED == set()
    assert "click" in names


@pytest.mark.parametrize("args", [["cluster", "show"], ["cluster", "check", TF_CONFIG], ["--version"]])
def test_cold_commands_stay_cold(args):
    assert imported_by(*args) - ALLOWED == set()


@pytest.mark.parametrize("module", ["importlib.metadata", "paceline.launch", "paceline.cluster", "paceline.cli.run"])
def test_the_first_help_does_not_import_what_only_commands_need(module):
    code = CODE.replace('name.partition(".")[0]', "name")
    done = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=True)
    assert module not in json.loads(done.stdout.splitlines()[-1])[1]
