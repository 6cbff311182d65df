import sys
import types
from dataclasses import dataclass, field

import pytest

from paceline import versions
from paceline.cli import main
from paceline.launch.options import RunOptions


@dataclass
class Result:
    code: int
    out: str
    err: str
    asked: list[RunOptions] = field(default_factory=list)


TESTED = versions.Installed(
    python="3.13.0", tensorflow="2.21.0", keras="3.15.1", distributions={"tensorflow-cpu": "2.21.0"}
)


@pytest.fixture
def call(capsys, monkeypatch):
    """Calls the command line in this process; a launcher that only notes what it was asked for stands in."""
    monkeypatch.setattr(versions, "installed", lambda: TESTED)
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    asked = []
    ending = {"code": 0, "error": None}

    def run(options):
        asked.append(options)
        if ending["error"] is not None:
            raise ending["error"]
        return ending["code"]

    launcher = types.ModuleType("paceline.launch.local")
    launcher.run = run
    monkeypatch.setitem(sys.modules, "paceline.launch.local", launcher)

    def call_main(*args, code=0, error=None):
        ending.update(code=code, error=error)
        asked.clear()
        exit_code = main(list(args))
        captured = capsys.readouterr()
        return Result(exit_code, captured.out, captured.err, list(asked))

    return call_main


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "train.py"
    path.write_text("import keras\n")
    return str(path)
