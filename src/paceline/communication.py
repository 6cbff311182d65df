"""Decides how the replicas of one process are summed. Pure: the launcher and the session both ask."""

from __future__ import annotations

from dataclasses import dataclass

from paceline.decision import Decision
from paceline.errors import ConfigurationRefused

INSTALL_CUDA = "pip uninstall -y tensorflow-cpu && pip install 'tensorflow[and-cuda]>=2.19,<2.22'"
"""What gives a Python with TensorFlow for CPUs one that uses GPUs."""


@dataclass(frozen=True, kw_only=True)
class Replicas:
    """What is to be summed.

    Attributes:
        num_workers: Processes of the job.
        num_in_process: Replicas in each process.
        num_gpus: GPUs of the whole job that TensorFlow can use.
        gpus_reason: Where the number of GPUs was learned, or why it is 0.
    """

    num_workers: int
    num_in_process: int
    num_gpus: int
    gpus_reason: str

    @property
    def is_one(self) -> bool:
        """Whether there is nothing to sum."""
        return self.num_workers == 1 and self.num_in_process == 1


def decide_in_process(asked: str, replicas: Replicas) -> Decision | None:
    """Returns how the replicas of one process are summed; ``None`` where a process has one.

    Raises:
        ConfigurationRefused: What was asked for cannot work here.
    """
    number = replicas.num_in_process
    if number == 1:
        return None
    if asked == "nccl":
        check_nccl(replicas)
    if asked == "hierarchical" and number % 2:
        # TensorFlow 2.19 to 2.21 (aggregate_gradients_using_hierarchical_copy): 1 + 2 + 3 over three replicas gives 3.
        raise ConfigurationRefused(
            "Hierarchical copy sums two halves of equal size: of an odd number of replicas it would lose one.",
            got=f"--communication hierarchical with {number} replicas in one process",
            expected="an even number of replicas",
            fix="--communication one-device",
        )
    if asked in ("nccl", "hierarchical", "one-device"):
        return Decision("in_process", asked, "asked for with --communication")
    if replicas.num_gpus:
        return Decision("in_process", "nccl", "GPUs of one process")
    return Decision("in_process", "auto", "TensorFlow's own choice on CPUs")


def check_nccl(replicas: Replicas) -> None:
    """Refuses NCCL without GPUs.

    Raises:
        ConfigurationRefused: The job has no GPU that TensorFlow can use.
    """
    if not replicas.num_gpus:
        raise ConfigurationRefused(
            "NCCL sums on GPUs, and this job has none that TensorFlow can use.",
            got=f"--communication nccl, no GPU ({replicas.gpus_reason})",
            expected="a GPU for each replica, and a TensorFlow with CUDA",
            fix=INSTALL_CUDA if "tensorflow-cpu" in replicas.gpus_reason else "--communication auto",
        )
