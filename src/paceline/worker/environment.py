"""The variables that must be right before TensorFlow is imported."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from paceline import versions
from paceline.errors import ConfigurationRefused
from paceline.worker.job import Assignment

# Libraries that start a pool of threads of their own inside each worker.
POOL_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
# The files of TensorFlow that log what collectives do, without the flood of the executor.
_COLLECTIVE_VLOG = (
    "collective_param_resolver_local=2,collective_param_resolver_distributed=2,base_collective_executor=2,"
    "rpc_collective_executor_mgr=2,ring_reducer=2,ring_alg=2,nccl_manager=2,coordination_service=2,"
    "coordination_service_agent=2"
)


#: They choose which Keras a program gets.
KERAS_VARIABLES = ("KERAS_BACKEND", "TF_USE_LEGACY_KERAS")


class Threads(NamedTuple):
    """Threads that TensorFlow starts with, as long as its own settings say 0.

    Attributes:
        intra_op: Within one operation.
        inter_op: For operations that do not depend on each other.
    """

    intra_op: int
    inter_op: int


def threads_in_effect() -> Threads:
    """Returns the threads of TensorFlow in this process, whose environment is set."""
    return threads(os.environ, len(os.sched_getaffinity(0)))


def threads(environ: Mapping[str, str], num_cores: int) -> Threads:
    """Returns the threads that TensorFlow starts with.

    Source: process_util.cc of TensorFlow 2.19 to 2.21: the variable, and without one a thread for each core.

    Args:
        environ: The environment of the process.
        num_cores: Cores that the process may use.

    >>> threads({"TF_NUM_INTRAOP_THREADS": "1"}, 4)
    Threads(intra_op=1, inter_op=4)
    """
    found = (environ.get(f"TF_NUM_{kind}OP_THREADS", "").strip() for kind in ("INTRA", "INTER"))
    return Threads(*(int(text) if text.isdecimal() and int(text) > 0 else num_cores for text in found))


def settings(assignment: Assignment, environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables to set, given those that exist.

    What the person asked for in ``env`` of the job wins over what is already set, and both win over our
    defaults. ``TF_CONFIG`` and ``CUDA_VISIBLE_DEVICES`` say what the job decided.

    Raises:
        ConfigurationRefused: A Keras other than Keras 3 on TensorFlow is asked for.
    """
    job = assignment.job
    asked = {str(key): str(value) for key, value in job.get("env", {}).items()}
    present = {**environ, **asked}
    for name in KERAS_VARIABLES:
        check_keras(name, present.get(name, ""), "env of the job" if name in asked else "the environment")
    result = dict(_defaults(job, assignment))
    result = {key: value for key, value in result.items() if key not in present}
    result.update(asked)
    result["KERAS_BACKEND"] = "tensorflow"
    if assignment.num_workers > 1 and job["cluster"]:
        task = {"type": "worker", "index": assignment.rank}
        result["TF_CONFIG"] = json.dumps({"cluster": job["cluster"], "task": task})
    devices = job.get("devices") or []
    # An empty list hides the GPUs: a CPU job must not fight over GPU 0. Without a list they are TensorFlow's to find.
    if assignment.rank < len(devices):
        result["CUDA_VISIBLE_DEVICES"] = ",".join(str(device) for device in devices[assignment.rank])
    return result


def _defaults(job: Mapping[str, Any], assignment: Assignment) -> Mapping[str, str]:
    """Returns what is set only where the person did not set it."""
    result = {"TF_CPP_MIN_LOG_LEVEL": "2"}
    threads = job.get("threads", {})
    intra_op, inter_op = int(threads.get("intra_op", 0)), int(threads.get("inter_op", 0))
    if intra_op > 0:
        result["TF_NUM_INTRAOP_THREADS"] = str(intra_op)
        result.update(dict.fromkeys(POOL_VARIABLES, str(intra_op)))
    if inter_op > 0:
        result["TF_NUM_INTEROP_THREADS"] = str(inter_op)
    if job.get("verbose_communication"):
        # The worker sends what TensorFlow logs to a file.
        result["TF_CPP_MIN_LOG_LEVEL"] = "0"
        result["TF_CPP_VMODULE"] = _COLLECTIVE_VLOG
        result["NCCL_DEBUG"] = "INFO"
        result["NCCL_DEBUG_FILE"] = str(assignment.directory / "nccl.log")
    return result


def check_keras(name: str, value: str, source: str) -> None:
    """Raises ConfigurationRefused if a variable asks for a Keras that paceline does not train.

    Args:
        name: One of `KERAS_VARIABLES`.
        value: What it is set to; empty: it is not set.
        source: Where, in a person's words.
    """
    refuse = versions.refuse_environment({name: value})
    if refuse is not None:
        raise ConfigurationRefused(
            "paceline trains Keras 3 on TensorFlow only.",
            got=f"{name}={value} in {source}",
            expected="KERAS_BACKEND=tensorflow, or not set" if name == "KERAS_BACKEND" else f"{name} not set",
            fix=f"take {name} out of {source}",
        )
