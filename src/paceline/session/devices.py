"""Decides where the replicas of a worker live. Pure: numbers in, names of devices out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paceline.errors import ConfigurationRefused


def choose_devices(job: Mapping[str, Any], rank: int, num_gpus: int) -> tuple[str, ...]:
    """Returns the device of each replica of worker `rank`.

    Args:
        job: job.json.
        rank: This worker's rank.
        num_gpus: GPUs that TensorFlow sees in this process.

    Raises:
        ConfigurationRefused: TensorFlow does not see the GPUs that the job is made for.

    >>> choose_devices({"num_workers": 1, "replicas_per_worker": 2, "devices": [["0", "1"]]}, 0, 2)
    ('/gpu:0', '/gpu:1')
    """
    replicas = int(job.get("replicas_per_worker", 1))
    devices = job.get("devices") or []
    given = devices[rank] if rank < len(devices) else []
    if given and num_gpus != len(given):
        raise ConfigurationRefused(
            "TensorFlow does not see the GPUs that this worker was given.",
            got=f"{num_gpus} in tf.config.list_physical_devices(); given: {','.join(given)}",
            expected="each of them, and a TensorFlow with CUDA that fits the driver",
            fix='paceline doctor, or --devices "" to train on the CPU',
        )
    if num_gpus == 0:
        return tuple(f"/cpu:{i}" for i in range(replicas))
    if not given:
        replicas = _of_found(job, replicas, num_gpus)
    return tuple(f"/gpu:{i}" for i in range(replicas))


def _of_found(job: Mapping[str, Any], asked: int, num_gpus: int) -> int:
    """Returns how many replicas live on GPUs of which the launcher knew nothing, as where nvidia-smi is missing."""
    if int(job["num_workers"]) > 1 or job.get("strategy") == "one-device":
        return 1
    if asked not in (1, num_gpus):
        raise ConfigurationRefused(
            "A worker has one replica for each of its GPUs.",
            got=f"--replicas-per-worker {asked}, TensorFlow sees {num_gpus} GPU(s)",
            expected=f"{num_gpus}",
            fix=f'--replicas-per-worker {num_gpus}, or --devices "" for {asked} replicas on the CPU',
        )
    return num_gpus
