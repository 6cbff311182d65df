"""How long a job takes from the death of a worker to its first new step, beside what starting it takes.

    python benchmarks/after_kill.py [--rounds N]

Each round starts the article's MLP on two workers, kills one of them in the midst of training (the chief as often as
the other), and waits for the first step of the next attempt. Starting (TensorFlow, the script, the trace of the step)
is timed in the same run: from the start of the launcher to the first step. Wants an otherwise idle machine.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

HERE = Path(__file__).resolve().parent
LIMIT_S = 120.0
#: Of training before the kill.
TRAINS_S = 5.0


def one_round(folder: Path, rank: int) -> tuple[float, float]:
    """Returns the seconds from the start to the first step, and from a kill to the first step after it."""
    steps = folder / "first-steps"
    environment = {**os.environ, "BENCH_FIRST_STEPS": str(steps), "TF_CPP_MIN_LOG_LEVEL": "3"}
    words = ["--workers", "2", "--max-restarts", "1", "--checkpoint-every", "200steps", "--checkpoint-dir", "ck"]
    command = [sys.executable, "-m", "paceline", "run", *words, str(HERE / "contestants" / "killed_script.py")]
    with (folder / "output").open("wb") as output:
        began = time.monotonic()
        job = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=output)
        try:
            started_s = wait_for(job, steps, 2)[-1] - began
            time.sleep(TRAINS_S)
            killed = time.monotonic()
            worker(job.pid, rank).send_signal(signal.SIGKILL)
            return started_s, wait_for(job, steps, 4)[-1] - killed
        finally:
            job.terminate()
            job.wait(LIMIT_S)


def wait_for(job: subprocess.Popen[bytes], steps: Path, number: int) -> list[float]:
    """Returns the times of the first steps, once there are so many: one of each worker and attempt."""
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until and job.poll() is None:
        found = steps.read_text().split() if steps.exists() else []
        if len(found) >= number:
            return [float(word) for word in found]
        time.sleep(0.05)
    sys.exit(f"no step within {LIMIT_S:g} s; exit code {job.poll()}")


def worker(launcher: int, rank: int) -> psutil.Process:
    """Returns a worker of a job."""
    for process in psutil.Process(launcher).children():
        if process.environ().get("PACELINE_RANK") == str(rank) and "paceline.worker" in process.cmdline():
            return process
    sys.exit(f"no worker {rank}")


def main() -> None:
    """Prints the median and the quartiles of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=8)
    arguments = parser.parse_args()
    found = []
    for number in range(arguments.rounds + 1):  # the first one warms the disk cache
        with tempfile.TemporaryDirectory() as folder:
            found.append(one_round(Path(folder), number % 2))
    starts, kills = zip(*found[1:], strict=True)
    show("start to first step", starts)
    show("kill to first new step", kills)
    show("longer than a start by", [kill - start for start, kill in found[1:]])


def show(what: str, seconds: list[float] | tuple[float, ...]) -> None:
    """Prints one line."""
    low, middle, high = statistics.quantiles(seconds, n=4)
    print(f"{what:<24}{middle:6.2f} s (quartiles {low:.2f} to {high:.2f}, {len(seconds)} rounds)")


main()
