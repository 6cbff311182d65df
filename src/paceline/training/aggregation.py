"""How the changes that replicas make to a state in one step become one change."""

from __future__ import annotations

from typing import Any


def adds_up(variable: Any) -> bool:
    """Returns whether the changes of replicas are added (metrics), not averaged by rows (moving statistics)."""
    return bool(variable.aggregation == "sum" or variable.synchronization == "on_read")
