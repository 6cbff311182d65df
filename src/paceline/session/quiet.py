"""Imports TensorFlow without the lines that it prints at every start."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator

#: Printed by TensorFlow 2.19 to 2.21 while it is imported, whatever the log level is.
_NOISE = (
    b"All log messages before absl::InitializeLog() is called",
    b"oneDNN custom operations are on",
    b"This TensorFlow binary is optimized to use available CPU instructions",
    b"To enable the following instructions:",
    b"Could not find cuda drivers on your machine",
)


@contextlib.contextmanager
def without_noise() -> Iterator[None]:
    """Holds what goes to stderr back and lets out what is not noise."""
    sys.stderr.flush()
    saved = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(saved, 2)
            os.close(saved)
            held.seek(0)
            kept = b"".join(line for line in held if not any(noise in line for noise in _NOISE))
            if kept:
                os.write(2, kept)
