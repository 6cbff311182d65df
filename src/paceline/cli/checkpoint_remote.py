"""Looking at a checkpoint directory that only TensorFlow can read: a throwaway process does."""

from __future__ import annotations

import os

from paceline.checkpoint_dir.examine import Depth, Examination
from paceline.checkpoint_dir.target import Target
from paceline.doctor.ask import ask
from paceline.errors import ConfigurationRefused

_LIMIT_S = 3600.0  # every byte of a directory over a network


def examine_remote(target: Target, depth: Depth) -> Examination:
    """Returns what lies in a directory on an object store.

    Raises:
        ConfigurationRefused: It cannot be read.
    """
    arguments = ["-m", "paceline.checkpoint", "examine", target.root, str(int(depth)), target.name]
    answer = ask(arguments, {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ}, limit_s=_LIMIT_S)
    fault = answer.fault or answer.value.get("fault", "")
    if fault:
        raise ConfigurationRefused(
            "The checkpoint directory cannot be read.",
            got=f"{target.root}: {fault}",
            fix="copy it to this machine, then: paceline checkpoint ls DIR",
        )
    return Examination.from_dict(answer.value)
