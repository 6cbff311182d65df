"""Files that callbacks add to: how long they were at a checkpoint, and cut back to that when training goes on.

`CSVLogger` begins its file anew in each `fit`, `TensorBoard` adds files. What was written after the checkpoint is
written again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import keras

_EVENTS = "events.out.tfevents.*"


def record(callbacks: Sequence[Any]) -> dict[str, dict[str, Any]]:
    """Returns the sizes of the files of callbacks, after these have written what they hold. Chief only."""
    found: dict[str, dict[str, Any]] = {}
    for place, callback in enumerate(callbacks):
        if isinstance(callback, keras.callbacks.CSVLogger):
            file = getattr(callback, "csv_file", None)
            if file is not None and not file.closed:
                file.flush()
            if os.path.isfile(callback.filename):
                found[str(place)] = {"csv": os.path.getsize(callback.filename)}
        elif isinstance(callback, keras.callbacks.TensorBoard):
            for writer in getattr(callback, "_writers", {}).values():
                writer.flush()
            root = Path(callback.log_dir)
            sizes = {str(path.relative_to(root)): path.stat().st_size for path in root.rglob(_EVENTS)}
            found[str(place)] = {"events": sizes}
    return found


def rewind(
    callbacks: Sequence[Any],
    sizes: Mapping[str, Mapping[str, Any]],
    *,
    writes: bool,
    tell: Callable[[str], None],
) -> None:
    """Cuts the files of callbacks back to what they were, and has a `CSVLogger` go on with its own. Before `fit`.

    Args:
        callbacks: Those of the script.
        sizes: What `record` returned.
        writes: Whether this worker's callbacks write: the chief's do.
        tell: Shows a person one line.
    """
    for place, callback in enumerate(callbacks):
        known = sizes.get(str(place), {})
        if isinstance(callback, keras.callbacks.CSVLogger) and "csv" in known:
            callback.append = True
            if writes:
                _cut(Path(callback.filename), known["csv"], tell)
        elif isinstance(callback, keras.callbacks.TensorBoard) and "events" in known and writes:
            root = Path(callback.log_dir)
            for path in sorted(root.rglob(_EVENTS)):
                size = known["events"].get(str(path.relative_to(root)))
                if size is None:
                    path.unlink(missing_ok=True)
                else:
                    _cut(path, size, tell)


def _cut(path: Path, size: int, tell: Callable[[str], None]) -> None:
    try:
        if path.stat().st_size > size:
            os.truncate(path, size)
        elif path.stat().st_size < size:
            tell(f"{path} is shorter than it was at the checkpoint: some of it was lost")
    except OSError as error:
        tell(f"{path} cannot be gone on with: {error.strerror}; rows of the interrupted part may be in it twice")
