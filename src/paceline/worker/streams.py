"""The standard streams of a worker."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def flush_each_line() -> None:
    """Has each line that the script prints written at once, also into a pipe."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]


def divert_native_stderr(path: Path) -> None:
    """Sends what C++ code prints on stderr to a file; what Python prints stays where it was.

    TensorFlow's verbose log has no file of its own, and would drown the script's output.
    """
    sys.stderr.flush()
    python_stderr = os.dup(2)
    native = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    os.dup2(native, 2)
    os.close(native)
    sys.stderr = open(  # noqa: SIM115  for the life of the process
        python_stderr, "w", buffering=1, encoding=sys.stderr.encoding, errors="backslashreplace"
    )
