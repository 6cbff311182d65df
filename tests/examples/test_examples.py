"""Every example runs as its first lines say, on one process and on two, and says the same on both."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


def run(command, folder):
    """Returns what a command prints on stdout; fails with all its output if it fails."""
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def paceline(*arguments):
    return [sys.executable, "-m", "paceline", "run", "--seed", "7", *arguments]


def losses(output):
    """Returns every loss that Keras or the script printed."""
    return [float(text) for text in re.findall(r"loss:? ([0-9.]+)", output)]


def test_02_prints_on_two_workers_what_01_prints_on_one(tmp_path):
    one = losses(run(paceline(str(EXAMPLES / "01_one_device.py")), tmp_path))
    two = losses(run(paceline(str(EXAMPLES / "01_one_device.py"), "--workers", "2"), tmp_path))
    assert len(one) == 10
    # four printed digits of sums of float32 in another order
    assert two == pytest.approx(one, abs=2e-4)


def test_02_is_a_command_that_runs(tmp_path):
    script = (EXAMPLES / "02_many_workers.sh").read_text()
    assert 'exec paceline run "$(dirname "$0")/01_one_device.py" --workers 2 "$@"' in script
    launcher = tmp_path / "bin" / "paceline"
    launcher.parent.mkdir()
    launcher.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m paceline "$@"\n')
    launcher.chmod(0o755)
    command = ["env", f"PATH={launcher.parent}:{os.environ['PATH']}", str(EXAMPLES / "02_many_workers.sh"), "--dry-run"]
    assert '"num_workers": 2' in run(command, tmp_path)


def test_03_is_the_same_with_two_workers_and_without_a_launcher(tmp_path):
    script = str(EXAMPLES / "03_with_strategy.py")
    one = losses(run(paceline(script), tmp_path))
    two = losses(run(paceline(script, "--workers", "2"), tmp_path))
    assert len(one) == 3
    assert two == pytest.approx(one, abs=2e-4)
    alone = losses(run([sys.executable, script], tmp_path))
    assert len(alone) == 3


@pytest.mark.timeout(400)
def test_the_demo_reaches_98_percent(tmp_path):
    output = run(paceline(str(EXAMPLES / "demo_digits.py"), "--workers", "2"), tmp_path)
    accuracy = float(re.search(r"test accuracy ([0-9.]+) on 360 digits", output)[1])
    assert accuracy >= 0.98
