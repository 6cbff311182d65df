"""paceline: your Keras script, unchanged, on any number of GPUs and machines.

Importing this package imports neither TensorFlow nor NumPy: devices, threads and
TF_CONFIG must be set before TensorFlow is, so the public names that need it are
loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paceline.session.state import is_chief, num_workers, rank, strategy
    from paceline.step_options import StepOptions

__version__ = "0.1.0"

__all__ = ["StepOptions", "__version__", "is_chief", "num_workers", "rank", "strategy"]


def __getattr__(name: str) -> Any:
    if name == "StepOptions":
        return importlib.import_module("paceline.step_options").StepOptions
    if name in __all__:
        # By name: what needs TensorFlow is imported when a script asks for it, and not by the command line.
        return getattr(importlib.import_module("paceline.session.state"), name)
    raise AttributeError(f"module 'paceline' has no attribute {name!r}; it offers {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
