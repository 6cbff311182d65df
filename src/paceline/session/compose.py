"""One worker's session from the first import of TensorFlow to its exit code."""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

import paceline
from paceline.callbacks import alike, one_writer, progress
from paceline.checkpoint import hooks as save_hooks
from paceline.checkpoint.chief import ChiefWrites
from paceline.collectives.transport import Alone, Transport
from paceline.data import caches, rows
from paceline.data.distribute import share_dataset
from paceline.errors import ConfigurationRefused
from paceline.files import write_whole
from paceline.journal.status import Phase, StatusReader
from paceline.resume import hooks as resume_hooks
from paceline.session import checkpoints, configuration, environment, hooks, lookout, state
from paceline.session.devices import choose_devices
from paceline.session.observer import SessionObserver
from paceline.session.script import run_script
from paceline.session.seeds import seed_everything
from paceline.session.stored import StoredDecisions
from paceline.session.watch import StatusWatch
from paceline.step_options import StepOptions
from paceline.strategies.job import JobStrategy
from paceline.strategies.local import LocalStrategy
from paceline.strategies.resolver import make_resolver
from paceline.training import decisions, guard
from paceline.tuning.ring import RingTuning
from paceline.worker import signals
from paceline.worker.environment import threads_in_effect

_POLL_S = 0.02


class Session:
    """A worker's part of a job; see `paceline.session.main`."""

    def __init__(self, job: dict[str, Any], rank: int, journal: Any, status: Any) -> None:
        self.job = job
        self.rank = rank
        self.size = int(job["num_workers"])
        step = dict(job.get("step", {}))
        self.ring = RingTuning(**step.pop("ring", {}))
        self.step = StepOptions(**step)
        self.journal = journal
        self.status = status
        self.attempt_dir = Path(job["run_dir"]) / "attempts" / str(job["attempt"])

    def run(self) -> int:
        """Runs the script and returns its exit code. Collective: yes, at the start and at the end."""
        self.status.set_phase(Phase.CONNECT)
        devices = self._devices()
        watch = StatusWatch(self.status, self.rank)
        transport = self._transport(watch)
        # TensorFlow's server, where there is one, took SIGTERM for itself.
        signals.restore_signals()
        strategy = self._strategy(transport, devices)
        transport.barrier()
        # Now every page is there. It stays readable, also if the script removes the run directory.
        others = [rank for rank in range(self.size) if rank != self.rank]
        peers = {rank: StatusReader(self.attempt_dir / f"worker-{rank}" / "status") for rank in others}
        for peer in peers.values():
            peer.read()
        if peers and self.status.is_shared:
            watch.peers = peers
            lookout.start(watch, self.journal)
        self.journal.event(
            "ready", replicas=strategy.num_replicas_in_sync, transport=transport.name, **_settings(transport)
        )
        if self.rank == 0:
            self._write_versions()
        keeping = checkpoints.open_directory(self.job, self.rank, self.tell)
        keeper = None if keeping is None else keeping.keeper(transport, self.journal, self.status, self.attempt_dir)
        stored = StoredDecisions(
            Path(self.job["run_dir"]) / "training.json",
            writes=self.rank == 0,
            tell=self.tell,
            also=None if keeping is None else keeping.decisions,
        )
        observer = SessionObserver(transport, self.journal, watch, stored, keeper)
        hooks.install(strategy, observer, self.tell, repeats=keeper is not None)
        configuration.install(self.job, threads_in_effect(), decisions.tell)
        environment.install(decisions.tell)
        save_hooks.install(ChiefWrites(self.rank, self.size, self.status, self.attempt_dir))
        caches.install(self.rank, self.tell)
        progress.install(observer)
        alike.install(transport)
        one_writer.install(self.rank)
        if keeper is not None:
            resume_hooks.install(keeper, strategy)
        state.enter(
            state.State(
                strategy=strategy, rank=self.rank, num_workers=self.size, asked=self.step, transport=transport.name
            )
        )
        seed_everything(int(self.job["seed"]))
        self.status.set_phase(Phase.SCRIPT)
        code = self._run_script(watch)
        if code == 0:
            guard.check_end(strategy)
            if keeping is not None:
                keeping.finish()
            self._meet_at_the_end(list(peers.values()))
        self.journal.event("end", exit_code=code)
        return code

    def _run_script(self, watch: StatusWatch) -> int:
        """Runs the script and returns its exit code; what the watch has refused is raised as it was."""
        try:
            with rows.in_words():
                return run_script(self.job["script"])
        except Exception:
            if watch.refused is not None:
                raise watch.refused from None
            raise

    def tell(self, text: str) -> None:
        """Keeps one line for the person in the journal; the launcher shows it, once for the job."""
        self.journal.event("note", text=text)

    # -- start -------------------------------------------------------------------------------

    def _devices(self) -> tuple[str, ...]:
        """Makes this worker's devices ready and returns where each of its replicas lives."""
        gpus = tf.config.list_physical_devices("GPU")
        devices = choose_devices(self.job, self.rank, len(gpus))
        for gpu in gpus:
            tf.config.experimental.set_memory_growth(gpu, True)
        if not gpus and len(devices) > 1:
            cpu = tf.config.list_physical_devices("CPU")[0]
            tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * len(devices))
        if len(devices) != int(self.job.get("replicas_per_worker", 1)):
            self.tell(f"{len(devices)} replicas: TensorFlow sees {len(gpus)} GPUs, of which paceline run knew nothing")
        return devices

    def _transport(self, watch: StatusWatch) -> Transport:
        name = self.job["transport"]
        if name == "none" or self.size == 1:
            return Alone()
        if name == "mpi":
            from paceline.collectives.mpi import MpiTransport

            return MpiTransport(self.rank, self.size, watch)
        if name == "nccl" and not tf.config.list_physical_devices("GPU"):
            # The launcher asked nvidia-smi; TensorFlow may lack CUDA, or one that fits the driver.
            raise ConfigurationRefused(
                "NCCL sums on GPUs, and TensorFlow sees none here.",
                got="no GPU in tf.config.list_physical_devices()",
                expected="a TensorFlow with CUDA that fits the driver",
                fix='paceline doctor, or --devices "" to train on the CPU',
            )
        if name in ("ring", "nccl"):
            from paceline.collectives.ring import RingTransport

            return RingTransport(self.job["cluster"], self.rank, watch, hint=name, tuning=self.ring)
        raise ConfigurationRefused(
            "The transport between workers is unknown.",
            got=f"transport {name!r} in job.json",
            expected="none, mpi, ring or nccl",
            fix="paceline run --communication auto ...",
        )

    def _strategy(self, transport: Transport, devices: Sequence[str]) -> Any:
        """Returns a mirrored strategy for several replicas of this process, and else the job's own."""
        if len(devices) > 1:
            return LocalStrategy.create(devices, self.step)
        resolver = make_resolver(self.job.get("cluster"), self.rank, self.size)
        rank, size = self.rank, self.size
        return JobStrategy.create(
            transport, devices[0], lambda dataset: share_dataset(dataset, rank, size), resolver, options=self.step
        )

    def _write_versions(self) -> None:
        versions = {
            "paceline": paceline.__version__,
            "python": platform.python_version(),
            "tensorflow": tf.__version__,
            "keras": keras.__version__,
        }
        path = Path(self.job["run_dir"]) / "versions.json"
        try:
            write_whole(path, versions)
        except OSError as error:  # a record; no reason to end a training
            self.tell(f"{path} is not written: {error.strerror}")

    # -- end ---------------------------------------------------------------------------------

    def _meet_at_the_end(self, peers: list[StatusReader]) -> None:
        """Returns when every worker has ended its script; the launcher watches that the wait ends."""
        self.status.set_phase(Phase.END)
        waiting = peers
        while waiting:
            waiting = [reader for reader in waiting if reader.read().phase is not Phase.END]
            if waiting:
                time.sleep(_POLL_S)


def _settings(transport: Transport) -> dict[str, Any]:
    """Returns how a transport was tuned, where it can be."""
    tuning: RingTuning | None = getattr(transport, "tuning", None) if transport.name == "ring" else None
    return {} if tuning is None else {"ring": asdict(tuning)}
