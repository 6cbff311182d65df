"""What a failure of a disk is called, and what mends it."""

from __future__ import annotations

import errno
import os

from paceline.errors import CheckpointDamaged, CheckpointNotWritten

_WRITABLE = "paceline run --checkpoint-dir /a/writable/directory ..."
_SPACE = "paceline run --checkpoint-dir /a/disk/with/space ..."
_FIXES = {
    errno.ENOSPC: f"free some space there, or: {_SPACE}",
    errno.EDQUOT: f"free some of your quota there, or: {_SPACE}",
    errno.EFBIG: "raise the limit (ulimit -f unlimited), or write to a file system that holds files of this size",
    errno.EROFS: _WRITABLE,
    errno.EACCES: f"chmod u+rwx the directory, or: {_WRITABLE}",
    errno.EPERM: f"chmod u+rwx the directory, or: {_WRITABLE}",
    errno.ENOTDIR: _WRITABLE,
    errno.EIO: "look for errors of the disk (dmesg), or: paceline run --checkpoint-dir /another/disk ...",
}


class Unfit(ValueError):
    """Something that a checkpoint cannot hold; the text names it."""


def not_written(path: str, error: OSError | Unfit) -> CheckpointNotWritten:
    """Returns what is raised where a checkpoint cannot be written.

    Args:
        path: Its folder.
        error: Why.
    """
    what = "A checkpoint cannot be written; those that were complete still are."
    if isinstance(error, Unfit):
        return CheckpointNotWritten(what, got=f"{path}: {error}", fix="leave it out of what is kept")
    fix = _FIXES.get(error.errno or 0, "paceline run --checkpoint-dir /another/directory ...")
    return CheckpointNotWritten(what, got=f"{_place(path, error)}: {error.strerror or error}", fix=fix)


def unreadable(path: str, error: OSError) -> CheckpointDamaged:
    """Returns what is raised where a file of a checkpoint cannot be read.

    Args:
        path: The file.
        error: Why.
    """
    return CheckpointDamaged(
        "A checkpoint cannot be read.",
        got=f"{path}: {error.strerror or error}",
        fix=f"ls -la {os.path.dirname(path)}",
    )


def _place(path: str, error: OSError) -> str:
    """Returns the checkpoint, and where it failed if that is another place."""
    name = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes)) else ""
    return path if not name or name.startswith(path) else f"{path} ({name})"
