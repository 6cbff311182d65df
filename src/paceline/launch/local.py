"""Runs a job on this machine."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from paceline.launch import rundir
from paceline.launch.facts import collect
from paceline.launch.options import RunOptions
from paceline.launch.plan import make_plan
from paceline.launch.pmi import PmiServer
from paceline.launch.ports import HeldPorts


def run(
    options: RunOptions,
    *,
    environ: Mapping[str, str] | None = None,
    session_module: str | None = None,
) -> int:
    """Runs the job and returns its exit code."""
    environ = os.environ if environ is None else environ
    plan = make_plan(
        options, collect(environ), cwd=os.getcwd(), drawn_seed=random.SystemRandom().randrange(2**31)
    )
    run_directory = rundir.create(options.run_dir, Path(options.target).stem, Path.cwd())
    ports = HeldPorts(plan.num_workers)
    job = plan.job(str(run_directory.path), 0, ports.addresses)
    if session_module:
        job["session_module"] = session_module
    rundir.write_json(run_directory.plan, plan.to_json())
    rundir.write_json(run_directory.job(0), job)
    pmi = PmiServer(plan.num_workers)
    pmi.start()
    ports.release()
    lease_read, lease_write = os.pipe()
    processes = []
    for rank in range(plan.num_workers):
        env = {
            **environ,
            "PACELINE_JOB": str(run_directory.job(0)),
            "PACELINE_RANK": str(rank),
            "PYTHONHASHSEED": str(plan.seed),
        }
        if plan.transport == "mpi":
            env.update(pmi.environment(rank))
        processes.append(
            subprocess.Popen(
                [sys.executable, "-m", "paceline.worker", "--lease-fd", str(lease_read)]
                + ["--launcher-pid", str(os.getpid())],
                env=env,
                pass_fds=[lease_read, pmi.child_fd(rank)],
                start_new_session=True,
            )
        )
        if plan.cpus[rank]:
            os.sched_setaffinity(processes[-1].pid, plan.cpus[rank])
    pmi.close_child_ends()
    codes = [process.wait() for process in processes]
    pmi.close()
    return next((code for code in codes if code), 0)
