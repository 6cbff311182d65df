"""The kinds of events and the one form they are kept in.

``docs/contracts.md`` tells which room writes which fields. A reader keeps kinds that it does not know:
journals of newer versions stay readable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

SCHEMA_VERSION = 1

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "start": "the process runs (pid, host)",
        "ready": "the strategy exists and every peer was met",
        "decision": "something was chosen (name, value, reason)",
        "note": "something the person should see (text)",
        "phase": "another phase began (name)",
        "fit_begin": "model.fit began",
        "epoch": "an epoch ended (epoch, logs)",
        "fit_end": "model.fit ended",
        "checkpoint": "a checkpoint is complete (step, path, seconds, bytes)",
        "resumed": "training goes on from a checkpoint (step, from)",
        "preempted": "the worker was told to end, and there is a checkpoint (step)",
        "saved": "the chief wrote something (path, n)",
        "error": "the worker failed (type, text, traceback)",
        "end": "the script ended (exit_code)",
        "signal": "a signal asked the worker to end (name)",
    }
)


@dataclass(frozen=True)
class Event:
    """One event of one worker.

    Attributes:
        t: When, in unix seconds by the clock of the worker's host.
        rank: Which worker.
        kind: One of ``KINDS``, or a kind of another version.
        fields: Everything else that was recorded.
    """

    t: float
    rank: int
    kind: str
    fields: Mapping[str, Any] = field(default_factory=dict)
