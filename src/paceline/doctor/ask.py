"""Ask a throwaway process, so that what it imports does not stay."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LIMIT_S = 120.0
"""Time for one answer: TensorFlow takes seconds to import from a warm disk, a minute from a cold network disk."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What a process said.

    Attributes:
        value: The decoded JSON of its last line, or None where it gave no answer.
        fault: Why there is no answer, one sentence; empty where there is one.
    """

    value: Any = None
    fault: str = ""


def ask(arguments: Sequence[str], environ: Mapping[str, str], *, limit_s: float = LIMIT_S) -> Answer:
    """Returns the answer of this Python, started anew.

    Args:
        arguments: What follows ``python``.
        environ: The whole environment of the process.
        limit_s: How long to wait.
    """
    try:
        done = subprocess.run(
            [sys.executable, *arguments], env=dict(environ), capture_output=True, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired:
        return Answer(fault=f"no answer within {limit_s:g} s")
    except OSError as error:
        return Answer(fault=f"Python could not be started: {error}")
    lines = done.stdout.decode(errors="replace").strip().splitlines()
    try:
        return Answer(value=json.loads(lines[-1]))
    except (IndexError, ValueError, RecursionError):
        said = done.stderr.decode(errors="replace").strip().splitlines()
        return Answer(fault=f"exit code {done.returncode}" + (f": {said[-1]}" if said else ""))
