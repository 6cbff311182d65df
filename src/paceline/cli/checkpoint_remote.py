"""What only TensorFlow or NumPy can do with a checkpoint: a throwaway process does it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from paceline.checkpoint_dir.examine import Depth, Examination
from paceline.checkpoint_dir.target import Target
from paceline.doctor.ask import ask
from paceline.errors import ConfigurationRefused, PacelineError

_LIMIT_S = 3600.0  # every byte of a directory over a network; a script up to its fit


def examine_remote(target: Target, depth: Depth) -> Examination:
    """Returns what lies in a directory on an object store.

    Raises:
        ConfigurationRefused: It cannot be read.
    """
    value = ask_hot({"do": "examine", "root": target.root, "depth": int(depth), "only": target.name})
    if "fault" in value:
        raise ConfigurationRefused(
            "The checkpoint directory cannot be read.",
            got=f"{target.root}: {value['fault']}",
            fix="copy it to this machine, then: paceline checkpoint ls DIR",
        )
    return Examination.from_dict(value)


def ask_hot(question: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the answer of `paceline.checkpoint`; `fault` in it says why there is none.

    Raises:
        PacelineError: The answer is an error with all its parts.
    """
    environ = {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ, "KERAS_BACKEND": "tensorflow"}
    answer = ask(["-m", "paceline.checkpoint", json.dumps(question)], environ, limit_s=_LIMIT_S)
    if answer.fault:
        return {"fault": answer.fault}
    value: dict[str, Any] = answer.value
    if "error" in value:
        error = value["error"]
        raised = PacelineError(error["what"], got=error["got"], expected=error["expected"], fix=error["fix"])
        raised.exit_code = error["exit_code"]
        raise raised
    return value
