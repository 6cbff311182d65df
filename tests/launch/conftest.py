"""Starts real jobs with a session that stands in, and proves that none of their processes is left."""

import json
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

import psutil
import pytest

HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src"


class Job:
    """A launcher in its own process, started in a folder with a script ``train.py``."""

    def __init__(self, folder, behaviours, *, environ=None, popen=None, **options):
        self.mark = uuid.uuid4().hex
        self.folder = folder
        (folder / "train.py").touch()
        options = {"target": "train.py", "workers": 2, "communication": "ring", **options}
        extra = options.pop("more_args", [])
        options["script_args"] = [json.dumps({str(k): v for k, v in behaviours.items()}), *extra]
        self.environ = {
            **os.environ,
            "PYTHONPATH": f"{SOURCE}{os.pathsep}{HERE}",
            "PACELINE_TEST_MARK": self.mark,
            **(environ or {}),
        }
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "driver.py"), json.dumps(options)],
            cwd=folder,
            env=self.environ,
            **{**streams, **(popen or {})},
        )
        self.out = self.err = ""

    def finish(self, timeout_s=20.0):
        """Waits for the launcher; returns its exit code as a shell sees it."""
        out, err = self.process.communicate(timeout=timeout_s)
        self.out, self.err = (out or b"").decode(), (err or b"").decode()
        code = self.process.returncode
        return 128 - code if code < 0 else code

    def members(self):
        """Returns the processes of this job, the launcher too."""
        found = []
        for process in psutil.process_iter():
            try:
                is_ours = process.environ().get("PACELINE_TEST_MARK") == self.mark
                if is_ours and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        return found

    def worker(self, rank):
        """Returns the process of a worker."""
        for process in self.members():
            if process.environ().get("PACELINE_RANK") == str(rank) and "paceline.worker" in process.cmdline():
                return process
        raise AssertionError(f"worker {rank} is not there")

    @property
    def run_directory(self):
        """Returns the only run directory under ``runs/``."""
        (path,) = (self.folder / "runs").iterdir()
        return path

    def wait_until_ready(self, workers=2, timeout_s=10.0):
        """Waits until ``workers`` journals say that they are ready."""
        self.wait_for(
            lambda: (
                sum('"ready"' in path.read_text() for path in self.folder.glob("runs/*/attempts/0/*/journal.jsonl"))
                >= workers
            ),
            timeout_s,
        )

    def wait_for(self, condition, timeout_s=10.0):
        """Waits until ``condition`` holds."""
        limit = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < limit, "it did not happen in time"
            time.sleep(0.05)


@pytest.fixture
def start_job(tmp_path):
    """Returns a function that starts a job; at the end none of its processes may be left."""
    jobs = []

    def start(behaviours, folder=tmp_path, **options):
        jobs.append(Job(folder, behaviours, **options))
        return jobs[-1]

    yield start
    left = [process for job in jobs for process in job.members()]
    described = [" ".join(process.cmdline()) for process in left]
    for process in left:
        process.kill()
    for job in jobs:
        job.process.communicate()
    assert not described, f"processes left behind: {described}"
