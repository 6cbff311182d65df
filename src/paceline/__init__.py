"""paceline: your Keras script, unchanged, on any number of GPUs and machines.

Importing this package imports neither TensorFlow nor NumPy: devices, threads and
TF_CONFIG must be set before TensorFlow is, so the public names that need it are
loaded when they are first used.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paceline.session.state import is_chief, num_workers, rank, strategy

__version__ = "0.1.0"

__all__ = ["__version__", "is_chief", "num_workers", "rank", "strategy"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from paceline.session import state

        return getattr(state, name)
    raise AttributeError(f"module 'paceline' has no attribute {name!r}; it offers {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """The package's class: `paceline.strategy` is the function, also once the room `paceline.strategy` is imported.

    Importing a submodule sets an attribute of its name on the package; a property outranks it.
    """

    @property
    def strategy(self) -> Any:
        """The function `strategy`."""
        return __getattr__("strategy")

    @strategy.setter
    def strategy(self, room: ModuleType) -> None:
        """Leaves the room to `sys.modules`, where import statements find it."""


sys.modules[__name__].__class__ = _Package
