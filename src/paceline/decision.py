"""One decision about a job, with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Decision:
    """One decision: what, which value, and why.

    Attributes:
        is_fallback: It is not the best there is, or not what was asked for; a person should see it.
    """

    name: str
    value: Any
    reason: str
    is_fallback: bool = False
