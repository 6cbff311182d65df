import importlib

import pytest

from paceline.cli import app, checkpoint, cluster

ENTRIES = {
    **app.COMMANDS,
    **{f"checkpoint {name}": entry for name, entry in checkpoint.COMMANDS.items()},
    **{f"cluster {name}": entry for name, entry in cluster.COMMANDS.items()},
}


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
            "--checkpoint-dir",
            "--checkpoint-every",
            "--checkpoint-writers",
            "--communication",
            "--devices",
            "--dry-run",
            "--env",
            "--grace",
            "--jit",
            "--keep-checkpoints",
            "--keep-every",
            "--max-restarts",
            "--quiet",
            "--replicas-per-worker",
            "--resume",
            "--run-dir",
            "--seed",
            "--stall-timeout",
            "--start-timeout",
            "--strategy",
            "--verbose-communication",
            "--wire-dtype",
            "--workers",
            "-m",
        ],
        "tune": ["--communication", "--json", "--quick", "--workers"],
        "checkpoint": [],
        "checkpoint ls": ["--json", "path"],
        "checkpoint show": ["--json", "path"],
        "checkpoint verify": ["--json", "path"],
        "checkpoint convert": ["--force", "--script", "out", "path"],
        "cluster": [],
        "explain": ["--all", "--attempt", "--json", "--limit", "names"],
        "doctor": ["--json"],
        "cluster show": ["--json"],
        "cluster check": ["--json", "text"],
    }
    assert sorted(option for param in app.root.params for option in param.opts) == ["--debug", "--version"]
