"""Decides how many workers there are, which GPUs each has and how many replicas live in it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from paceline.communication import INSTALL_CUDA, Replicas
from paceline.decision import Decision
from paceline.errors import ConfigurationRefused
from paceline.launch.facts import MachineFacts
from paceline.launch.options import ONE_PROCESS, RunOptions

# Source: Private_Dirty in smaps_rollup of a worker that has trained one dense layer (TensorFlow 2.21, x86-64): 243 MiB.
_WORKER_BYTES = 240 * 2**20
_UNKNOWN_MEMORY_BYTES = 2**40
# Replicas on a CPU take turns on its cores, and each is traced into the graph of a step: more gain nothing. A few for
# each core are for trying out what many replicas do. What they hold is the model's size, which nobody knows yet: an
# empty one has 0.4 MiB (resident memory of a process with 1, 16 and 64 replicas, TensorFlow 2.21).
_REPLICAS_PER_CORE = 8


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Where the replicas of a job live.

    Attributes:
        workers: How many processes.
        devices: GPU ids of each worker, none for a worker on the CPU; empty: the launcher knows of no GPU, and the
            only worker has what TensorFlow finds.
        replicas_per_worker: How many replicas in each worker: one for each of its GPUs.
        decisions: The three with their reasons.
        gpus_reason: Where the GPUs were learned, or why there are none.
    """

    workers: int
    devices: tuple[tuple[str, ...], ...]
    replicas_per_worker: int
    decisions: tuple[Decision, ...]
    gpus_reason: str

    @property
    def replicas(self) -> Replicas:
        """What is to be summed."""
        return Replicas(
            num_workers=self.workers,
            num_in_process=self.replicas_per_worker,
            num_gpus=sum(len(gpus) for gpus in self.devices),
            gpus_reason=self.gpus_reason,
        )


def place(options: RunOptions, facts: MachineFacts) -> Placement:
    """Returns where the replicas live.

    Raises:
        ConfigurationRefused: What was asked for has no place here.
    """
    gpus, reason = _usable_gpus(options, facts)
    workers = _workers(options, gpus, reason)
    number = int(workers.value)
    _check_room(number, facts)
    devices, of_devices = _devices(options, number, gpus, reason)
    replicas = _replicas(options, number, gpus, facts)
    return Placement(
        workers=number,
        devices=devices,
        replicas_per_worker=int(replicas.value),
        decisions=(workers, of_devices, replicas),
        gpus_reason=reason,
    )


def _usable_gpus(options: RunOptions, facts: MachineFacts) -> tuple[tuple[str, ...], str]:
    if options.devices and not facts.tensorflow_uses_gpus:
        raise ConfigurationRefused(
            "The GPUs cannot be used: this TensorFlow is for CPUs only.",
            got=f"--devices {','.join(options.devices)}, tensorflow-cpu is installed",
            expected="a TensorFlow with CUDA, or no GPUs",
            fix=f"leave out --devices, or {INSTALL_CUDA}",
        )
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
    if (options.replicas_per_worker or 1) > 1:
        return Decision("workers", 1, f"--replicas-per-worker {options.replicas_per_worker} is one process")
    if gpus:
        return Decision("workers", len(gpus), f"one for each GPU ({gpus_reason})")
    return Decision("workers", 1, f"no GPU ({gpus_reason})")


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


def _devices(
    options: RunOptions, num_workers: int, gpus: tuple[str, ...], reason: str
) -> tuple[tuple[tuple[str, ...], ...], Decision]:
    """Returns the GPUs of each worker: all for one worker, one for each of several."""
    if num_workers == 1:
        mine = gpus[:1] if options.strategy == "one-device" else gpus
        devices: tuple[tuple[str, ...], ...] = (mine,) if mine or options.devices is not None else ()
    elif gpus:
        _check_shares(options, num_workers, gpus)
        devices = tuple((gpu,) for gpu in gpus[:num_workers])
    else:
        devices = ((),) * num_workers
    left = len(gpus) - sum(len(ids) for ids in devices)
    if left:
        way_out = "--strategy mirrored" if num_workers == 1 else f"--workers {len(gpus)}"
        reason += f"; {left} of {len(gpus)} GPUs left idle, {way_out} uses all"
    # A person who asked for one device knows that the others are idle, unless they were named.
    is_fallback = bool(left) and (num_workers > 1 or options.devices is not None)
    return devices, Decision("devices", [list(ids) for ids in devices], reason, is_fallback=is_fallback)


def _check_shares(options: RunOptions, num_workers: int, gpus: tuple[str, ...]) -> None:
    """Refuses shares other than one GPU: workers do not share one, and a worker of several uses one."""
    number, got = len(gpus), f"{num_workers} workers, GPUs {','.join(gpus)}"
    if number < num_workers:
        raise ConfigurationRefused(
            "There are more workers than GPUs, and workers do not share a GPU.",
            got=got,
            expected=f"at most {number} workers",
            fix=f"--workers {number}"
            + ("" if options.devices is not None else ', or --devices "" to train on the CPU'),
        )
    if number >= 2 * num_workers:
        raise ConfigurationRefused(
            "There is more than one GPU for each worker, and each of several workers uses one.",
            got=got,
            expected="as many workers as GPUs, or one worker with all of them",
            fix=f"--workers {number}, or --devices {','.join(gpus[:num_workers])}",
        )


def _replicas(options: RunOptions, num_workers: int, gpus: tuple[str, ...], facts: MachineFacts) -> Decision:
    """Returns how many replicas each worker has."""
    name, asked = "replicas_per_worker", options.replicas_per_worker
    if num_workers > 1:
        return Decision(name, 1, "one for each of several workers")
    if options.strategy == "one-device":
        return Decision(name, 1, "--strategy one-device")
    if gpus:
        if asked is not None and asked != len(gpus):
            raise _one_for_each_gpu(asked, gpus)
        reason = "one for each GPU of the worker"
        return Decision(name, len(gpus), f"{reason}, mirrored in one process" if len(gpus) > 1 else reason)
    if asked is None:
        return Decision(name, 1, "no GPU: one on the CPU")
    _check_cores(asked, facts)
    return Decision(name, asked, "asked for with --replicas-per-worker")


def _one_for_each_gpu(asked: int, gpus: tuple[str, ...]) -> ConfigurationRefused:
    number = len(gpus)
    fewer, on_cpu = f"--devices {','.join(gpus[:asked])}", f'--devices "" for {asked} replicas on the CPU'
    return ConfigurationRefused(
        "A worker has one replica for each of its GPUs.",
        got=f"--replicas-per-worker {asked}, GPUs {','.join(gpus)}",
        expected=f"{number} replica{'s' if number > 1 else ''}",
        fix=f"--replicas-per-worker {number}, or {fewer if asked < number else on_cpu}",
    )


def _check_cores(asked: int, facts: MachineFacts) -> None:
    most = max(1, _REPLICAS_PER_CORE * facts.num_cores)
    if asked > most:
        raise ConfigurationRefused(
            "There are too many replicas for the cores of this machine.",
            got=f"--replicas-per-worker {asked}; cores of {facts.host}: {facts.num_cores}",
            expected=f"at most {most}: {_REPLICAS_PER_CORE} for each core, and memory for a copy of the model in each",
            fix=f"--replicas-per-worker {facts.num_cores}",
        )
