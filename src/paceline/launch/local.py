"""Runs a job on this machine: looks, plans, starts the workers, watches them, ends them."""

from __future__ import annotations

import json
import os
import secrets
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from paceline.launch import process, rundir
from paceline.launch.facts import collect
from paceline.launch.family import Family
from paceline.launch.interrupts import Interrupts
from paceline.launch.options import RunOptions
from paceline.launch.output import OutputPump
from paceline.launch.plan import JobPlan, make_plan
from paceline.launch.pmi import PmiServer
from paceline.launch.ports import HeldPorts
from paceline.launch.report import Report
from paceline.launch.screen import Screen
from paceline.launch.script import check_script
from paceline.launch.supervise import Supervisor

_ATTEMPT = 0
# Left over from an outer mpiexec or srun, these would tell a worker that it belongs to another MPI job.
_OUTER_MPI = ("PMI_", "PMIX_", "HYDI_", "OMPI_")


def run(
    options: RunOptions,
    *,
    environ: Mapping[str, str] | None = None,
    session_module: str | None = None,
) -> int:
    """Runs a job on this machine and returns its exit code; call in the main thread.

    Args:
        options: What was asked for.
        environ: The environment that workers inherit; ``None``: this process' own.
        session_module: Stands in for ``paceline.session`` in tests.

    Raises:
        ConfigurationRefused: Before anything is started.
    """
    environ = dict(os.environ if environ is None else environ)
    cwd = Path.cwd()
    check_script(options.target, module=options.module, cwd=cwd)
    plan = make_plan(options, collect(environ), cwd=str(cwd), drawn_seed=secrets.randbelow(2**31))
    if options.dry_run:
        _show(plan)
        return 0
    stem = options.target if options.module else Path(options.target).stem
    directory = rundir.create(options.run_dir, stem, cwd)
    rundir.write_json(directory.plan, plan.to_json())
    rundir.write_json(
        directory.decisions, {"schema": 1, "decisions": [asdict(decision) for decision in plan.decisions]}
    )
    screen = Screen(with_view=not options.quiet)
    report = Report(plan, directory.attempt(_ATTEMPT), screen, quiet=options.quiet)
    report.begin(directory.path)
    began = time.monotonic()
    with Interrupts() as interrupts:
        family = Family()
        try:
            code = _run_attempt(plan, directory, screen, report, interrupts, environ, options, session_module)
        finally:
            family.end()
    report.end(code, time.monotonic() - began)
    return code


def _run_attempt(
    plan: JobPlan,
    directory: rundir.RunDirectory,
    screen: Screen,
    report: Report,
    interrupts: Interrupts,
    environ: Mapping[str, str],
    options: RunOptions,
    session_module: str | None,
) -> int:
    ports = HeldPorts(plan.num_workers if plan.num_workers > 1 else 0)
    pmi = PmiServer(plan.num_workers) if plan.transport == "mpi" else None
    lease_fd, lease_writer = os.pipe()
    workers: list[process.WorkerProcess] = []
    try:
        job = plan.job(str(directory.path), _ATTEMPT, ports.addresses)
        if session_module is not None:
            job["session_module"] = session_module
        rundir.write_json(directory.job(_ATTEMPT), job)
        if pmi is not None:
            pmi.start()
        ports.release()
        for rank in range(plan.num_workers):
            request = _request(plan, directory, screen, environ, options, rank, lease_fd, pmi)
            workers.append(process.start(request))
            if pmi is not None:
                pmi.adopt(rank, workers[-1].pid)
        if pmi is not None:
            pmi.close_child_ends()
        pump = OutputPump(workers, screen, all_output=options.all_output)
        pump.start()
        code = Supervisor(plan, workers, pump, screen, interrupts, report).watch()
        pump.finish()
        return code
    finally:
        screen.show(())
        for worker in workers:
            worker.kill_group()
        os.close(lease_fd)
        os.close(lease_writer)
        ports.release()
        if pmi is not None:
            pmi.close()


def _request(
    plan: JobPlan,
    directory: rundir.RunDirectory,
    screen: Screen,
    environ: Mapping[str, str],
    options: RunOptions,
    rank: int,
    lease_fd: int,
    pmi: PmiServer | None,
) -> process.StartRequest:
    """Returns how worker ``rank`` is started; makes its folder."""
    worker_directory = directory.worker(_ATTEMPT, rank)
    worker_directory.mkdir(parents=True, exist_ok=True)
    variables = {key: value for key, value in environ.items() if not key.startswith(_OUTER_MPI)}
    variables.setdefault("PYTHONHASHSEED", str(plan.seed % 2**32))
    variables["PACELINE_JOB"] = str(directory.job(_ATTEMPT))
    variables["PACELINE_RANK"] = str(rank)
    inherited: tuple[int, ...] = (lease_fd,)
    if pmi is not None:
        variables.update(pmi.environment(rank))
        inherited = (lease_fd, pmi.child_fd(rank))
    one_shown = not (options.all_output and plan.num_workers > 1)
    has_terminal = rank == 0 and one_shown and screen.stdout_is_terminal
    return process.StartRequest(
        rank=rank,
        directory=worker_directory,
        environ=variables,
        cwd=str(plan.script["cwd"]),
        cpus=plan.cpus[rank],
        inherited_fds=inherited,
        lease_fd=lease_fd,
        terminal_size=screen.size() if has_terminal else None,
        reads_stdin=rank == 0,
    )


def _show(plan: JobPlan) -> None:
    """Prints the plan: for people on stderr, as JSON on stdout."""
    for decision in plan.decisions:
        print(f"paceline: {decision.name}: {decision.value}  ({decision.reason})", file=sys.stderr)
    print(json.dumps(plan.to_json(), indent=2, ensure_ascii=False))
