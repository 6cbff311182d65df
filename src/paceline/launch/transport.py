"""Decides how workers are summed, and what a step does with what was chosen for it. Pure."""

from __future__ import annotations

from paceline.communication import Replicas, check_nccl, decide_in_process
from paceline.decision import Decision
from paceline.errors import ConfigurationRefused
from paceline.launch.facts import MachineFacts
from paceline.step_options import BETWEEN_PROCESSES, StepOptions

_INSTALL_MPI = "pip install mpi4py mpich"
# Source: df /dev/shm while 2, 4 and 8 ranks are connected: 5.2 MiB each, also with messages of 100 MB (mpich 5.0.2).
_SHARED_BYTES = 6 * 2**20
_DEFAULT = StepOptions()


def decide(
    asked: StepOptions, replicas: Replicas, facts: MachineFacts
) -> tuple[str, StepOptions, tuple[Decision, ...]]:
    """Returns the transport between workers, the options of a step as they are in job.json, and the reasons.

    Raises:
        ConfigurationRefused: What was asked for cannot work here.
    """
    transport = decide_transport(asked.communication, replicas, facts)
    in_process = decide_in_process(asked.communication, replicas)
    step = StepOptions(
        communication="auto" if in_process is None else str(in_process.value),
        wire_dtype=asked.wire_dtype,
        bucket_mb=asked.bucket_mb,
        jit=asked.jit,
    )
    first = (transport,) if in_process is None else (transport, in_process)
    return str(transport.value), step, (*first, *_of_a_step(asked, replicas))


def decide_transport(asked: str, replicas: Replicas, facts: MachineFacts) -> Decision:
    """Returns how tensors are summed over workers.

    Raises:
        ConfigurationRefused: What was asked for cannot work here.
    """
    num_workers = replicas.num_workers
    if num_workers == 1:
        return _no_transport(asked, replicas)
    missing = [name for name in ("mpi4py", "mpich") if getattr(facts, name) is None]
    little = _little_shared_memory(facts, num_workers)
    if asked == "mpi":
        _check_mpi(missing, little)
        return Decision("transport", "mpi", "asked for with --communication")
    if asked == "ring":
        return Decision("transport", "ring", "asked for with --communication: TensorFlow's own collectives")
    if asked == "nccl":
        check_nccl(replicas)
        return Decision("transport", "nccl", "asked for with --communication")
    if asked != "auto":
        raise ConfigurationRefused(
            "This communication is for the replicas of one process.",
            got=f"--communication {asked} with {num_workers} workers",
            expected=f"auto, {', '.join(BETWEEN_PROCESSES)}",
            fix=f"--communication auto   or, in one process: --strategy mirrored --communication {asked}",
        )
    if replicas.num_gpus:
        reason = "GPUs: NCCL, by name, because TensorFlow's AUTO would be RING over gRPC here (tensorflow#50178)"
        return Decision("transport", "nccl", reason)
    if missing:
        reason = f"TensorFlow's own; {' and '.join(missing)} not installed. Faster: {_INSTALL_MPI}"
        return Decision("transport", "ring", reason, is_fallback=True)
    if little:
        needed = f"{_SHARED_BYTES / 2**20:.0f} MiB of shared memory for each worker"
        return Decision("transport", "ring", f"TensorFlow's own; MPI needs {needed}: {little}", is_fallback=True)
    reason = f"CPU workers on one host: shared memory, no port opened (mpich {facts.mpich})"
    return Decision("transport", "mpi", reason)


def _no_transport(asked: str, replicas: Replicas) -> Decision:
    reason = "one worker"
    if asked == "auto" or (not replicas.is_one and asked not in ("ring", "mpi")):
        return Decision("transport", "none", reason)
    reason += " of one replica, nothing to sum" if replicas.is_one else ", nothing to sum between workers"
    return Decision("transport", "none", f"{reason}: --communication {asked} is without effect", is_fallback=True)


def _check_mpi(missing: list[str], little: str) -> None:
    if missing:
        raise ConfigurationRefused(
            "MPI cannot be used: a package is missing.",
            got=f"--communication mpi without {' and '.join(missing)}",
            expected="mpi4py and mpich in this Python",
            fix=_INSTALL_MPI,
        )
    if little:
        raise ConfigurationRefused(
            "MPI cannot be used: its workers meet in shared memory.",
            got=f"--communication mpi, {little}",
            expected=f"{_SHARED_BYTES / 2**20:.0f} MiB for each worker",
            fix="--communication ring, or a larger /dev/shm (docker run --shm-size=1g ...)",
        )


def _little_shared_memory(facts: MachineFacts, num_workers: int) -> str:
    """Returns in words that there is too little for MPI: a worker would die of SIGBUS; empty where there is enough."""
    free = facts.shared_memory_bytes
    if free is None or free >= num_workers * _SHARED_BYTES:
        return ""
    return f"{free / 2**20:.3g} MiB are free in /dev/shm"


def _of_a_step(asked: StepOptions, replicas: Replicas) -> list[Decision]:
    """Returns the decisions on what a person chose for a step, and on ``jit`` in any case."""
    made = []
    if asked.wire_dtype != _DEFAULT.wire_dtype:
        nothing = "one worker, nothing travels between workers" if replicas.num_workers == 1 else ""
        made.append(_chosen("wire_dtype", "--wire-dtype", asked.wire_dtype, nothing))
    if asked.bucket_mb != _DEFAULT.bucket_mb:
        nothing = "one worker of one replica, nothing to sum" if replicas.is_one else ""
        made.append(_chosen("bucket_mb", "--bucket-mb", asked.bucket_mb, nothing))
    if asked.jit == "auto":
        return [*made, Decision("jit", "auto", "default: XLA compiles where it helps")]
    return [*made, _chosen("jit", "--jit", asked.jit)]


def _chosen(name: str, option: str, value: str | float, without_effect: str = "") -> Decision:
    reason = f"asked for with {option}"
    if without_effect:
        return Decision(name, value, f"{reason}; without effect: {without_effect}", is_fallback=True)
    return Decision(name, value, reason)
