import importlib

import pytest

from paceline.cli import app, cluster

ENTRIES = {**app.COMMANDS, **{f"cluster {name}": entry for name, entry in cluster.COMMANDS.items()}}


@pytest.mark.parametrize(("name", "entry"), ENTRIES.items())
def test_every_row_of_the_table_is_a_command(name, entry):
    command = importlib.import_module(entry.module).command
    assert command.help
    assert entry.summary.endswith(".")


def test_all_options_of_the_command_line():
    """A new option changes this list on purpose, and the documentation with it."""
    options = {
        name: sorted(option for param in importlib.import_module(entry.module).command.params for option in param.opts)
        for name, entry in ENTRIES.items()
    }
    assert options == {
        "run": [
            "--all-output",
            "--bucket-mb",
            "--communication",
            "--devices",
            "--dry-run",
            "--env",
            "--grace",
            "--jit",
            "--quiet",
            "--replicas-per-worker",
            "--run-dir",
            "--seed",
            "--start-timeout",
            "--strategy",
            "--verbose-communication",
            "--wire-dtype",
            "--workers",
            "-m",
        ],
        "tune": ["--communication", "--json", "--quick", "--workers"],
        "cluster": [],
        "explain": ["--all", "--attempt", "--json", "--limit", "names"],
        "doctor": ["--json"],
        "cluster show": ["--json"],
        "cluster check": ["--json", "text"],
    }
    assert sorted(option for param in app.root.params for option in param.opts) == ["--debug", "--version"]
