"""Decides how a job runs: facts and options in, one ``JobPlan`` with its reasons out. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from paceline.communication import Replicas
from paceline.decision import Decision
from paceline.launch.facts import MachineFacts
from paceline.launch.options import RunOptions
from paceline.launch.placement import Placement, place
from paceline.launch.transport import decide
from paceline.step_options import StepOptions
from paceline.tuning.ring import RingTuning
from paceline.tuning.taken import take


@dataclass(frozen=True, kw_only=True)
class JobPlan:
    """Everything that is decided before a process starts.

    Attributes:
        step: What a worker's step is told; ``communication`` is how replicas of one process are summed.
        ring: How RING moves a buffer; ``None`` where it is not the transport.
        devices: GPU ids of each worker; see ``Placement``.
        cpus: Cores that each worker is pinned to; empty: not pinned.
        intra_op: Threads of one TensorFlow operation; 0 leaves it to TensorFlow.
        is_crowded: There are more workers than cores.
        checkpoint: ``checkpoint`` of job.json; ``dir`` is ``""`` for a folder of the run. ``None``: there are none.
        stall_s: How long no worker may come further; ``None``: learned.
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
    checkpoint: Mapping[str, Any] | None = None
    stall_s: float | None = None

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
        } | ({} if self.checkpoint is None else {"checkpoint": self._checkpoint(run_dir)})

    def _checkpoint(self, run_dir: str) -> dict[str, Any]:
        known = dict(self.checkpoint or {})
        return known | {"dir": known["dir"] or f"{run_dir}/checkpoints"}


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
    placement = place(options, facts)
    num_workers = placement.workers
    transport, step, communication = decide(options.step, placement.replicas, facts)
    ring, ring_decision = _ring(options, facts, placement.replicas) if transport == "ring" else (None, ())
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
        replicas_per_worker=placement.replicas_per_worker,
        strategy=options.strategy,
        transport=transport,
        step=step,
        ring=ring,
        seed=int(seed.value),
        devices=placement.devices,
        cpus=cpus,
        intra_op=intra_op,
        is_crowded=num_workers > facts.num_cores,
        env=dict(options.env),
        verbose_communication=options.verbose_communication,
        start_s=options.start_timeout_s,
        grace_s=options.grace_s,
        stall_s=options.stall_timeout_s,
        host=facts.host,
        decisions=(
            *placement.decisions,
            *_tf_config(placement, facts),
            *communication,
            *ring_decision,
            cores_decision,
            seed,
        ),
    )


def _tf_config(placement: Placement, facts: MachineFacts) -> tuple[Decision, ...]:
    """Returns what becomes of a TF_CONFIG that a worker would inherit; nothing where there is none."""
    if not facts.has_tf_config:
        return ()
    if placement.workers == 1:
        reason = "that of the environment describes another cluster; this job is one worker"
        return (Decision("tf_config", "left out", reason, is_fallback=True),)
    reason = "that of the environment describes another cluster; each worker gets this job's"
    return (Decision("tf_config", "replaced", reason, is_fallback=True),)


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
