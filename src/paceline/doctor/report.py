"""Everything that ``paceline doctor`` knows, as one value."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from paceline import __version__, versions
from paceline.doctor.ask import Answer, ask

_DEVICES = """
import json
import tensorflow as tf
print(json.dumps([{"name": d.name, "type": d.device_type} for d in tf.config.list_physical_devices()]))
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """Facts about this machine and this Python.

    Attributes:
        paceline: Our own version.
        system: Operating system and machine.
        installed: Versions that are installed.
        verdict: What is known about that combination.
        devices: What TensorFlow sees, asked of a process of its own.
        repairs: Faults of Keras and TensorFlow that we mend here, asked in the same way.
    """

    paceline: str
    system: str
    installed: versions.Installed
    verdict: versions.Verdict
    devices: Answer
    repairs: Answer

    @property
    def is_fit(self) -> bool:
        """Whether training can be started here."""
        return self.verdict.kind != "refused" and not self.devices.fault

    def as_dict(self) -> dict[str, Any]:
        """Returns a value that json can write."""
        return {"fit": self.is_fit, **asdict(self)}


def gather(environ: Mapping[str, str]) -> Report:
    """Returns what can be said about this machine; takes as long as an import of TensorFlow.

    Args:
        environ: The environment to judge and to start processes with.
    """
    installed = versions.installed()
    verdict = versions.judge_installed(environ, installed)
    quiet = {"TF_CPP_MIN_LOG_LEVEL": "3", **environ}
    missing = Answer(fault="TensorFlow is not installed")
    return Report(
        paceline=__version__,
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        installed=installed,
        verdict=verdict,
        devices=ask(["-c", _DEVICES], quiet) if installed.tensorflow else missing,
        repairs=ask(["-m", "paceline.repairs", "--json"], quiet) if installed.tensorflow else missing,
    )
