"""Kills workers of a real training at random moments, and compares how it ends with one that nobody disturbed.

    python scripts/faults.py --kills 100

Each job trains `tests/scripts/programs/resumes.py` (dropout, BatchNorm, a shuffled pipeline, callbacks, two fits) with
`--max-restarts`; one of its workers, the chief as often as another, is killed, or stopped, after a random time, attempt
after attempt. What the job wrote at its end (weights, optimizer, History, files of callbacks, what was drawn, which
samples were seen) must have the same bits. Exits with 1 if one differs or does not end.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "tests" / "scripts" / "programs" / "resumes.py"
LIMIT_S = 600.0
#: How long a worker may take to be stuck in silence before the launcher names it, in jobs whose workers are stopped.
STALL_S = 10.0
#: In one job: a budget of restarts is not what is tested.
MOST_KILLS = 6


def start(folder: Path, workers: int, options: list[str]) -> subprocess.Popen[bytes]:
    """Starts a job in a folder of its own."""
    facts = folder / "facts"
    facts.mkdir(parents=True)
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
    environment = {**os.environ, "PYTHONPATH": path, "FACTS": str(facts), "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-m", "paceline", "run", "--workers", str(workers), "--seed", "11"]
    command += ["--checkpoint-dir", "ck", "--checkpoint-every", "5steps", *options, str(PROGRAM)]
    with (folder / "output").open("wb") as output:
        return subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT)


def workers_of(launcher: int) -> dict[int, psutil.Process]:
    """Returns the worker processes of a job, by rank."""
    found = {}
    for process in psutil.process_iter():
        try:
            if process.ppid() == launcher and "paceline.worker" in process.cmdline():
                found[int(process.environ()["PACELINE_RANK"])] = process
        except (psutil.NoSuchProcess, psutil.AccessDenied, KeyError):
            continue
    return found


def disturb(job: subprocess.Popen[bytes], rng: random.Random, longest_s: float, number: signal.Signals) -> str:
    """Waits a random time, sends a signal to a random worker; returns what was done, nothing if the job has ended."""
    wait_s = rng.uniform(0.0, longest_s)
    until = time.monotonic() + wait_s
    while time.monotonic() < until:
        if job.poll() is not None:
            return ""
        time.sleep(0.02)
    workers = workers_of(job.pid)
    if not workers:
        return "nobody was there"
    rank = rng.choice(sorted(workers))
    try:
        workers[rank].send_signal(number)
    except psutil.NoSuchProcess:
        return "nobody was there"
    return f"{number.name} to worker {rank} after {wait_s:.2f} s"


def facts_of(folder: Path) -> dict[str, bytes]:
    """Returns what each worker wrote at its end."""
    return {path.name: path.read_bytes() for path in sorted((folder / "facts").glob("*.json"))}


def different(found: dict[str, bytes], wanted: dict[str, bytes]) -> list[str]:
    """Returns the names of what differs, each with its worker."""
    names = []
    for worker in sorted({*found, *wanted}):
        mine, theirs = (json.loads(facts.get(worker, b"{}")) for facts in (found, wanted))
        names += [f"{worker} {key}" for key in {**mine, **theirs} if mine.get(key) != theirs.get(key)]
    return names


def run_job(folder: Path, options: argparse.Namespace, rng: random.Random, longest_s: float) -> tuple[list[str], int]:
    """Runs a job under fire; returns what was done to it, and its exit code."""
    number = signal.SIGSTOP if options.stop else signal.SIGKILL
    more = ["--max-restarts", "99", "--grace", "5s"]
    more += ["--stall-timeout", f"{STALL_S:g}s"] if options.stop else []
    job = start(folder, options.workers, more)
    done: list[str] = []
    try:
        while job.poll() is None and len(done) < MOST_KILLS:
            what = disturb(job, rng, longest_s, number)
            if what:
                done.append(what)
        return done, job.wait(LIMIT_S)
    finally:
        if job.poll() is None:
            job.terminate()
            job.wait(60)


def main() -> int:
    """Runs jobs until so many workers were killed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100, help="how many in all (100)")
    parser.add_argument("--workers", type=int, default=2, help="of each job (2)")
    parser.add_argument("--stop", action="store_true", help="stop workers (SIGSTOP) instead of killing them")
    parser.add_argument("--seed", type=int, default=1, help="of the moments (1)")
    options = parser.parse_args()
    rng = random.Random(options.seed)  # noqa: S311  moments, no secrets
    with tempfile.TemporaryDirectory(prefix="faults-") as base:
        began = time.monotonic()
        quiet = Path(base) / "quiet"
        if start(quiet, options.workers, []).wait(LIMIT_S) != 0:
            print((quiet / "output").read_text(errors="replace")[-3000:])
            return 1
        longest_s, wanted = time.monotonic() - began, facts_of(quiet)
        print(f"undisturbed: {longest_s:.1f} s, {len(wanted)} workers", flush=True)
        kills = jobs = wrong = 0
        while kills < options.kills:
            jobs += 1
            folder = Path(base) / f"job-{jobs}"
            done, code = run_job(folder, options, rng, longest_s)
            kills += sum(what.startswith("SIG") for what in done)
            is_same = code == 0 and facts_of(folder) == wanted
            wrong += not is_same
            print(
                f"job {jobs}: {'same bits' if is_same else f'WRONG (exit code {code})'}; {'; '.join(done)}", flush=True
            )
            if not is_same:
                print((folder / "output").read_text(errors="replace")[-6000:])
        print(f"{kills} kills in {jobs} jobs, {wrong} of which ended otherwise than undisturbed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
