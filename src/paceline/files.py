"""Files that a reader finds whole or not at all."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_whole(path: Path, content: Mapping[str, Any]) -> None:
    """Writes ``content`` as JSON so that a reader sees all of it or none.

    Raises:
        OSError: It cannot be written; what was begun is removed.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8", errors="backslashreplace") as file:
            # What is no UTF-8 in a name or an argument becomes its own JSON escape.
            json.dump(content, file, indent=2, ensure_ascii=False)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
