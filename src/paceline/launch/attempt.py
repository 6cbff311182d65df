"""One attempt of a job: its workers are started, watched and ended, and nothing of it is left."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass

from paceline.checkpoint_dir.layout import is_remote, step_of
from paceline.checkpoint_dir.reader import LocalReader
from paceline.errors import ConfigurationRefused
from paceline.launch import process, rundir
from paceline.launch.family import Family
from paceline.launch.guard import Guard
from paceline.launch.interrupts import Interrupts
from paceline.launch.output import OutputPump
from paceline.launch.plan import JobPlan
from paceline.launch.pmi import PmiServer
from paceline.launch.ports import HeldPorts
from paceline.launch.report import Report
from paceline.launch.restart import Outcome
from paceline.launch.screen import Screen
from paceline.launch.supervise import Supervisor

# Left over from an outer mpiexec or srun, these would tell a worker that it belongs to another MPI job.
_OUTER_MPI = ("PMI_", "PMIX_", "HYDI_", "OMPI_")
_FIXES = {
    errno.EMFILE: "ulimit -n 4096, or fewer workers",
    errno.EAGAIN: "ulimit -u unlimited, or fewer workers",
    errno.ENOSPC: "paceline run --run-dir /a/disk/with/space ...",
}


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One attempt to run a job.

    Attributes:
        number: From 0.
        environ: What workers inherit.
        all_output: Show the output of every worker.
        session_module: Stands in for ``paceline.session`` in tests.
    """

    plan: JobPlan
    directory: rundir.RunDirectory
    number: int
    environ: Mapping[str, str]
    screen: Screen
    report: Report
    interrupts: Interrupts
    all_output: bool
    session_module: str | None = None

    @property
    def job_path(self) -> str:
        """Where this attempt's job.json is."""
        return str(self.directory.job(self.number))

    def newest_checkpoint(self) -> int | None:
        """Returns the job step of the newest checkpoint; None: there is none, or only workers can look there."""
        root = str((self.plan.checkpoint or {}).get("dir") or self.directory.path / "checkpoints")
        if is_remote(root):
            return None
        steps = [step for name in LocalReader(root).names("") if (step := step_of(name)) is not None]
        return max(steps, default=None)

    def run(self) -> Outcome:
        """Returns how the attempt ended; call in the main thread.

        Raises:
            ConfigurationRefused: The system has too little of something to start the workers.
        """
        with contextlib.ExitStack() as stack:
            try:
                workers, pump = self._begin(stack)
            except OSError as error:
                raise self._cannot_start(error) from error
            outcome = Supervisor(self.plan, workers, pump, self.screen, self.interrupts, self.report).watch()
            pump.finish()
            return outcome

    def _begin(self, stack: contextlib.ExitStack) -> tuple[list[process.WorkerProcess], OutputPump]:
        """Starts everything; ``stack`` ends it, also when only a part could be started."""
        plan = self.plan
        ports = HeldPorts(plan.num_workers if plan.num_workers > 1 else 0)
        stack.callback(ports.release)
        self._write_job(ports.addresses)
        lease_fd, lease_writer = os.pipe()
        stack.callback(os.close, lease_writer)
        stack.callback(os.close, lease_fd)
        guard = Guard(lease_fd, self.job_path)
        stack.callback(guard.close)
        stack.callback(Family().end)  # after the guard was started: it is not of the family
        pmi = None
        if plan.transport == "mpi":
            pmi = PmiServer(plan.num_workers, is_crowded=plan.is_crowded)
            stack.callback(pmi.close)
            pmi.start()
        workers: list[process.WorkerProcess] = []
        stack.callback(_kill, workers)
        stack.callback(self.screen.show, ())
        ports.release()
        self._start(workers, lease_fd, pmi)
        pump = OutputPump(workers, self.screen, all_output=self.all_output)
        pump.start()
        return workers, pump

    def _cannot_start(self, error: OSError) -> ConfigurationRefused:
        number = self.plan.num_workers
        return ConfigurationRefused(
            "The workers cannot be started: the system has not enough for them.",
            got=f"--workers {number}: {error.strerror or error}",
            expected="descriptors (ulimit -n), processes (ulimit -u), memory and disk for all of them",
            fix=_FIXES.get(error.errno or 0, "fewer workers"),
        )

    def _write_job(self, addresses: tuple[str, ...]) -> None:
        job = self.plan.job(str(self.directory.path), self.number, addresses)
        if self.session_module is not None:
            job["session_module"] = self.session_module
        rundir.write_json(self.directory.job(self.number), job)

    def _start(self, workers: list[process.WorkerProcess], lease_fd: int, pmi: PmiServer | None) -> None:
        for rank in range(self.plan.num_workers):
            workers.append(process.start(self._request(rank, lease_fd, pmi)))
            if pmi is not None:
                pmi.adopt(rank, workers[-1].pid)
        if pmi is not None:
            pmi.close_child_ends()

    def _request(self, rank: int, lease_fd: int, pmi: PmiServer | None) -> process.StartRequest:
        """Returns how worker ``rank`` is started; makes its folder."""
        worker_directory = self.directory.worker(self.number, rank)
        worker_directory.mkdir(parents=True, exist_ok=True)
        variables = {key: value for key, value in self.environ.items() if not key.startswith(_OUTER_MPI)}
        # Some variables are read once, when the interpreter and the loader start (PYTHONPATH, LD_LIBRARY_PATH).
        variables.update(self.plan.env)
        variables.setdefault("PYTHONHASHSEED", str(self.plan.seed % 2**32))
        variables["PACELINE_JOB"] = self.job_path
        variables["PACELINE_RANK"] = str(rank)
        inherited: tuple[int, ...] = (lease_fd,)
        if pmi is not None:
            variables.update(pmi.environment(rank))
            inherited = (lease_fd, pmi.child_fd(rank))
        # Prefixed lines of several workers are no place for a progress bar.
        is_alone = not self.all_output or self.plan.num_workers == 1
        has_terminal = rank == 0 and is_alone and self.screen.stdout_is_terminal
        return process.StartRequest(
            rank=rank,
            directory=worker_directory,
            environ=variables,
            cwd=str(self.plan.script["cwd"]),
            cpus=self.plan.cpus[rank],
            inherited_fds=inherited,
            lease_fd=lease_fd,
            terminal_size=self.screen.size() if has_terminal else None,
            reads_stdin=rank == 0,
        )


def _kill(workers: list[process.WorkerProcess]) -> None:
    for worker in workers:
        worker.kill_group()
        worker.wait(2.0)
