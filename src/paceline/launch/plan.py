"""Decides how a job runs: facts and options in, one ``JobPlan`` with its reasons out. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from paceline.errors import ConfigurationRefused
from paceline.launch.communication import Replicas, decide
from paceline.launch.decision import Decision
from paceline.launch.facts import MachineFacts
from paceline.launch.options import ONE_PROCESS, RunOptions
from paceline.step_options import StepOptions
from paceline.tuning.ring import RingTuning
from paceline.tuning.taken import take

# Source: Private_Dirty in smaps_rollup of a worker that has trained one dense layer (TensorFlow 2.21, x86-64): 243 MiB.
_WORKER_BYTES = 240 * 2**20
_UNKNOWN_MEMORY_BYTES = 2**40


@dataclass(frozen=True, kw_only=True)
class JobPlan:
    """Everything that is decided before a process starts.

    Attributes:
        step: What a worker's step is told; ``communication`` is how replicas of one process are summed.
        ring: How RING moves a buffer; ``None`` where it is not the transport.
        devices: GPU ids of each worker; ``()`` for all: none.
        cpus: Cores that each worker is pinned to; empty: not pinned.
        intra_op: Threads of one TensorFlow operation; 0 leaves it to TensorFlow.
        is_crowded: There are more workers than cores.
        decisions: Each decision with its reason, in the order made.
    """

    script: Mapping[str, Any]
    num_workers: int
    replicas_per_worker: int
    strategy: str
    transport: str
    step: StepOptions
    ring: RingTuning | None
    seed: int
    devices: tuple[tuple[str, ...], ...]
    cpus: tuple[tuple[int, ...], ...]
    intra_op: int
    is_crowded: bool
    env: Mapping[str, str]
    verbose_communication: bool
    start_s: float
    grace_s: float
    host: str
    decisions: tuple[Decision, ...]

    def to_json(self) -> dict[str, Any]:
        """Returns the plan as plain values, for plan.json and ``--dry-run``."""
        return {"schema": 1, **asdict(self)}

    def job(self, run_dir: str, attempt: int, addresses: tuple[str, ...]) -> dict[str, Any]:
        """Returns job.json of one attempt; ``docs/contracts.md`` has the form."""
        return {
            "schema": 1,
            "script": dict(self.script),
            "num_workers": self.num_workers,
            "replicas_per_worker": self.replicas_per_worker,
            "strategy": self.strategy,
            "transport": self.transport,
            "step": asdict(self.step) | ({} if self.ring is None else {"ring": asdict(self.ring)}),
            "seed": self.seed,
            "cluster": {"worker": list(addresses)} if self.num_workers > 1 else {},
            "threads": {"intra_op": self.intra_op, "inter_op": 0},
            "devices": [list(devices) for devices in self.devices],
            "run_dir": run_dir,
            "attempt": attempt,
            "env": dict(self.env),
            "verbose_communication": self.verbose_communication,
            "limits": {"start_s": self.start_s, "grace_s": self.grace_s},
        }


def make_plan(options: RunOptions, facts: MachineFacts, *, cwd: str, drawn_seed: int) -> JobPlan:
    """Returns how the job runs.

    Args:
        options: What was asked for.
        facts: What the machine offers.
        cwd: Folder that the script runs in.
        drawn_seed: Seed to use where none was asked for.

    Raises:
        ConfigurationRefused: What was asked for cannot work here.
    """
    gpus, gpus_reason = _usable_gpus(options, facts)
    workers = _workers(options, gpus, gpus_reason)
    num_workers = int(workers.value)
    _check_room(num_workers, facts)
    devices = _share_devices(gpus, num_workers, given=options.devices is not None)
    replicas = _replicas(options, facts, num_workers, gpus, gpus_reason)
    transport, step, communication = decide(options.step, replicas, facts)
    ring, ring_decision = _ring(options, facts, replicas) if transport == "ring" else (None, ())
    cpus, intra_op, cores_decision = _share_cores(facts, num_workers)
    seed = Decision("seed", options.seed, "asked for with --seed")
    if options.seed is None:
        seed = Decision("seed", drawn_seed, "drawn; --seed N repeats this run")
    return JobPlan(
        script={
            "kind": "module" if options.module else "path",
            "target": options.target,
            "argv": list(options.script_args),
            "cwd": cwd,
        },
        num_workers=num_workers,
        replicas_per_worker=options.replicas_per_worker,
        strategy=options.strategy,
        transport=transport,
        step=step,
        ring=ring,
        seed=int(seed.value),
        devices=devices,
        cpus=cpus,
        intra_op=intra_op,
        is_crowded=num_workers > facts.num_cores,
        env=dict(options.env),
        verbose_communication=options.verbose_communication,
        start_s=options.start_timeout_s,
        grace_s=options.grace_s,
        host=facts.host,
        decisions=(
            workers,
            Decision("devices", [list(ids) for ids in devices], gpus_reason),
            *communication,
            *ring_decision,
            cores_decision,
            seed,
        ),
    )


def _check_room(num_workers: int, facts: MachineFacts) -> None:
    """Refuses workers that this machine cannot hold: it would not fail, but swap and kill for minutes."""
    most = max(1, (facts.memory_bytes or _UNKNOWN_MEMORY_BYTES) // _WORKER_BYTES)
    if num_workers > most:
        memory = "unknown" if facts.memory_bytes is None else f"{facts.memory_bytes / 2**30:.3g} GiB"
        raise ConfigurationRefused(
            "There is no room for so many workers.",
            got=f"--workers {num_workers}; memory of {facts.host}: {memory}",
            expected=f"at most {most} workers: {_WORKER_BYTES / 2**20:.0f} MiB each, before they hold any data",
            fix=f"--workers {min(most, facts.num_cores)}",
        )


def _usable_gpus(options: RunOptions, facts: MachineFacts) -> tuple[tuple[str, ...], str]:
    if options.devices is not None:
        return options.devices, "asked for with --devices"
    if facts.gpus and not facts.tensorflow_uses_gpus:
        return (), f"{len(facts.gpus)} GPU(s) are here, but tensorflow-cpu is installed: it cannot use them"
    return facts.gpus, facts.gpus_source


def _workers(options: RunOptions, gpus: tuple[str, ...], gpus_reason: str) -> Decision:
    if options.workers is not None:
        return Decision("workers", options.workers, "asked for with --workers")
    if options.strategy in ONE_PROCESS:
        return Decision("workers", 1, f"--strategy {options.strategy} is one process")
    if gpus:
        return Decision("workers", len(gpus), f"one for each GPU ({gpus_reason})")
    return Decision("workers", 1, f"no GPU ({gpus_reason})")


def _share_devices(gpus: tuple[str, ...], num_workers: int, *, given: bool) -> tuple[tuple[str, ...], ...]:
    """Returns the GPUs of each worker: equal shares, in order; too few GPUs are refused."""
    if gpus and len(gpus) < num_workers:
        raise ConfigurationRefused(
            "There are more workers than GPUs, and workers do not share a GPU.",
            got=f"{num_workers} workers, GPUs {','.join(gpus)}",
            expected=f"at most {len(gpus)} workers",
            fix=f"--workers {len(gpus)}" + ("" if given else ', or --devices "" to train on the CPU'),
        )
    share = len(gpus) // num_workers
    return tuple(gpus[rank * share : (rank + 1) * share] for rank in range(num_workers))


def _replicas(
    options: RunOptions, facts: MachineFacts, num_workers: int, gpus: tuple[str, ...], gpus_reason: str
) -> Replicas:
    """Returns what is to be summed: one process has several replicas where the session makes a mirrored strategy."""
    if gpus and not facts.tensorflow_uses_gpus:  # given with --devices
        gpus, gpus_reason = (), "tensorflow-cpu is installed: it cannot use GPUs"
    is_mirrored = options.replicas_per_worker > 1 or (options.strategy == "mirrored" and len(gpus) > 1)
    return Replicas(
        num_workers=num_workers,
        num_in_process=(len(gpus) or options.replicas_per_worker) if num_workers == 1 and is_mirrored else 1,
        num_gpus=len(gpus),
        gpus_reason=gpus_reason,
    )


def _ring(options: RunOptions, facts: MachineFacts, replicas: Replicas) -> tuple[RingTuning, tuple[Decision, ...]]:
    number = replicas.num_workers
    taken = take(options.ring, facts.ring_tunings.get(number), num_workers=number, num_gpus=replicas.num_gpus)
    decision = Decision("ring tuning", asdict(taken.tuning), taken.reason, is_fallback=taken.is_fallback)
    return taken.tuning, (decision,)


def _share_cores(facts: MachineFacts, num_workers: int) -> tuple[tuple[tuple[int, ...], ...], int, Decision]:
    if num_workers == 1:
        return ((),), 0, Decision("cores", 0, "one worker: TensorFlow uses all it may")
    each = max(1, facts.num_cores // num_workers)
    if facts.num_cores < num_workers:
        reason = f"more workers than cores ({facts.num_cores}): they share, slowly"
        return ((),) * num_workers, each, Decision("cores", each, reason, is_fallback=True)
    if facts.num_cores < len(facts.cpus):
        reason = f"{facts.num_cores} cores' worth of time granted by the control group; not pinned"
        return ((),) * num_workers, each, Decision("cores", each, reason)
    cpus = tuple(facts.cpus[rank * each : (rank + 1) * each] for rank in range(num_workers))
    reason = f"{len(facts.cpus)} cores divided by {num_workers} workers, each pinned to its own"
    return cpus, each, Decision("cores", each, reason)
