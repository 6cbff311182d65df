"""The variables that must be right before TensorFlow is imported."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from paceline.errors import ConfigurationRefused
from paceline.worker.job import Assignment

# Libraries that start a pool of threads of their own inside each worker.
_POOL_VARIABLES = (
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


def settings(assignment: Assignment, environ: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables to set, given those that exist.

    What the person asked for in ``env`` of the job wins over what is already set, and both win over our
    defaults. ``TF_CONFIG`` and ``CUDA_VISIBLE_DEVICES`` say what the job decided.

    Raises:
        ConfigurationRefused: Keras is set to a backend other than TensorFlow.
    """
    job = assignment.job
    asked = {str(key): str(value) for key, value in job.get("env", {}).items()}
    present = {**environ, **asked}
    _check_backend(present, "env of the job" if "KERAS_BACKEND" in asked else "the environment")
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
        result.update(dict.fromkeys(_POOL_VARIABLES, str(intra_op)))
    if inter_op > 0:
        result["TF_NUM_INTEROP_THREADS"] = str(inter_op)
    if job.get("verbose_communication"):
        # The worker sends what TensorFlow logs to a file.
        result["TF_CPP_MIN_LOG_LEVEL"] = "0"
        result["TF_CPP_VMODULE"] = _COLLECTIVE_VLOG
        result["NCCL_DEBUG"] = "INFO"
        result["NCCL_DEBUG_FILE"] = str(assignment.directory / "nccl.log")
    return result


def _check_backend(present: Mapping[str, str], source: str) -> None:
    backend = present.get("KERAS_BACKEND", "")
    if backend not in ("", "tensorflow"):
        raise ConfigurationRefused(
            "paceline trains Keras on TensorFlow only.",
            got=f"KERAS_BACKEND={backend} in {source}",
            expected="KERAS_BACKEND=tensorflow, or not set",
            fix="unset KERAS_BACKEND",
        )
