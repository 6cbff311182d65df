"""Runs programs as a person does: `python -m paceline run PROGRAM`, and reads the facts that its workers wrote."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).resolve().parent / "programs"
_LIMIT_S = 150
#: What depends on the versions of Keras and TensorFlow; the other programs run on the newest tested ones only.
ON_OLDEST = {
    "test_article.py", "test_no_strategy.py", "test_own_strategies.py", "test_resume.py", "test_support.py",
}  # fmt: skip


def pytest_collection_modifyitems(items):
    """Leaves most programs to the newest tested versions, to save time."""
    for item in items:
        if item.path.parent == PROGRAMS.parent and item.path.name not in ON_OLDEST:
            item.add_marker(pytest.mark.whole_table)


@dataclass
class Outcome:
    """How a job ended.

    Attributes:
        code: Exit code.
        out: What it printed on stdout.
        err: What it printed on stderr.
        facts: What each worker wrote down, by rank.
        seconds: How long it took.
        folder: Working folder of the job.
    """

    code: int
    out: str
    err: str
    facts: list[dict] = field(default_factory=list)
    seconds: float = 0.0
    folder: Path = Path()

    @property
    def text(self):
        return self.out + self.err

    def ok(self):
        """Returns itself if the job ended well; otherwise fails with what it printed."""
        assert self.code == 0, self.text[-6000:]
        return self

    def same(self, name):
        """Returns a fact that every worker has alike."""
        values = [worker[name] for worker in self.facts]
        assert all(value == values[0] for value in values), {name: values}
        return values[0]

    def notes(self, pattern):
        """Returns the lines of paceline that match."""
        return [line for line in self.err.splitlines() if line.startswith("paceline: ") and re.search(pattern, line)]


@pytest.fixture(scope="session")
def start(tmp_path_factory, request):
    """Returns a function that runs a program to its end."""
    transport = ["--communication", "ring"] if request.config.getoption("--over-ring") else []

    def run(
        program, *arguments, workers=2, options=(), command=None, folder=None, env=None, plain=False, python_path=""
    ):
        folder = Path(folder or tmp_path_factory.mktemp(Path(program).stem))
        facts = folder / "facts"
        facts.mkdir(exist_ok=True)
        target = command or [str(PROGRAMS / program) if (PROGRAMS / program).exists() else program]
        head = [sys.executable]
        chosen = transport if workers > 1 else []
        if not plain:
            head += ["-m", "paceline", "run", "--workers", str(workers), "--seed", "11", *chosen, *options]
        path = os.pathsep.join(filter(None, [str(ROOT / "src"), str(python_path), os.environ.get("PYTHONPATH", "")]))
        variables = {**os.environ, "PYTHONPATH": path, "FACTS": str(facts), "TF_CPP_MIN_LOG_LEVEL": "3", **(env or {})}
        began = time.monotonic()
        done = subprocess.run(
            [*head, *target, *arguments],
            cwd=folder, env=variables, capture_output=True, text=True, timeout=_LIMIT_S, check=False,
        )  # fmt: skip
        written = sorted(facts.glob("*.json"), key=lambda file: int(file.stem))
        found = [json.loads(file.read_text()) for file in written]
        return Outcome(done.returncode, done.stdout, done.stderr, found, time.monotonic() - began, folder)

    return run
