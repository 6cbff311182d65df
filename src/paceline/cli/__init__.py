"""The command line: one file per command.

**Enters:** arguments, ``os.environ``, standard input. **Leaves:** text or JSON, and an exit code
(``docs/contracts.md`` lists them). **May import:** every cold room, inside the command that needs it; no hot
room, no TensorFlow, no NumPy, ever. Commands are found by a name -> module table and imported when they are
used, so ``paceline --help`` imports click and this package only.
"""

from __future__ import annotations

from paceline.cli.app import main

__all__ = ["main"]
