"""The names in a checkpoint directory."""

from __future__ import annotations

import re

MANIFEST = "manifest.json"
RUN = "run.json"
FITS = "fits"
DECISIONS = "training.json"
"""What the run has decided while training, for the next run of the same job."""
EARLIER = "earlier"
"""What earlier runs left, moved aside."""
UNFINISHED = ".tmp-"
"""What is being written has a name that begins so; of a dead writer it is a leftover."""
REPLACED = ".old-"
"""What is about to be replaced by another one of the same step."""
SET_ASIDE = "damaged-"
"""What was found damaged, and is not looked at again."""

_STEP = re.compile(r"step-(\d{12,})")
_FIT = re.compile(r"\d{6,}")
_STATE = re.compile(r"state-(\d+)-of-(\d+)\.safetensors")


def step_name(step: int) -> str:
    """Returns the name of the folder of one job step.

    >>> step_name(1200)
    'step-000000001200'
    """
    return f"step-{step:012d}"


def step_of(name: str) -> int | None:
    """Returns the job step of a folder's name, None where it is no checkpoint's.

    >>> step_of("step-000000001200"), step_of("step-12"), step_of(".tmp-step-000000001200")
    (1200, None, None)
    """
    match = _STEP.fullmatch(name)
    return int(match[1]) if match and step_name(int(match[1])) == name else None


def fit_name(number: int) -> str:
    """Returns the name of the folder that holds how a fit ended, within the checkpoint directory.

    >>> fit_name(1)
    'fits/000001'
    """
    return f"{FITS}/{number:06d}"


def fit_of(name: str) -> int | None:
    """Returns the number of a fit from its folder's own name, None where it is no fit's.

    >>> fit_of("000012"), fit_of("12")
    (12, None)
    """
    return int(name) if _FIT.fullmatch(name) and f"{int(name):06d}" == name else None


def state_name(index: int, count: int) -> str:
    """Returns the name of one file of tensors.

    >>> state_name(0, 2)
    'state-0-of-2.safetensors'
    """
    return f"state-{index}-of-{count}.safetensors"


def is_state_name(name: str) -> bool:
    """Returns whether a name is that of a file of tensors.

    >>> is_state_name("state-0-of-2.safetensors"), is_state_name("../state-0-of-2.safetensors")
    (True, False)
    """
    match = _STATE.fullmatch(name)
    return match is not None and int(match[1]) < int(match[2])


def is_remote(path: str) -> bool:
    """Returns whether a path is not of this machine's file system, but of an object store or its like.

    >>> is_remote("gs://bucket/run"), is_remote("/data/run")
    (True, False)
    """
    return "://" in path
