"""What `sys.exit` means."""

from __future__ import annotations

import sys


def exit_code_of(error: SystemExit) -> int:
    """Returns the exit code that `python` would end with; prints the text of `sys.exit("text")`."""
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    print(error.code, file=sys.stderr)
    return 1
