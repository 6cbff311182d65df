"""Where a checkpoint directory lies: what each kind of place does to write a folder whole or not at all."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import secrets
import shutil
import stat
from typing import Any, Protocol

import numpy as np

from paceline.checkpoint_dir.layout import REPLACED, UNFINISHED, is_remote

_AT_FDCWD, _EXCHANGE = -100, 2  # fcntl.h, linux/fs.h


class Sink(Protocol):
    """A file that is being written."""

    def write(self, piece: memoryview) -> None:
        """Appends a piece, all of it."""

    def finish(self) -> None:
        """Makes sure that what was written stays, and closes."""

    def abandon(self) -> None:
        """Closes, whatever becomes of the content."""


class Place(Protocol):
    """A directory. Names are relative to it, with `/`; what fails raises OSError, whatever the kind of place."""

    root: str

    def names(self, name: str) -> list[str]:
        """Returns what a folder holds, nothing where there is none."""

    def exists(self, name: str) -> bool:
        """Returns whether there is such a file."""

    def read(self, name: str) -> np.ndarray:
        """Returns a file's content, uint8."""

    def begin(self, name: str, *, shares: int, num_bytes: int) -> str:
        """Makes the folder that is filled before it becomes `name`; one for all workers where there are shares.

        Refuses what obviously has no room: `num_bytes` is what this worker is going to write.
        """

    def create(self, name: str) -> Sink:
        """Returns a new file."""

    def complete(self, working: str, name: str) -> None:
        """Makes a filled folder the one of that name, in one step."""

    def replace(self, name: str, content: bytes) -> None:
        """Writes a file whole or not at all."""

    def set_aside(self, name: str, other: str) -> None:
        """Renames a folder."""

    def remove(self, name: str) -> None:
        """Removes a folder with all that it holds, or a file, if there is one."""

    def tidy(self) -> list[str]:
        """Removes what dead writers left, and returns its names; puts back what was being replaced."""


def place_of(path: str | os.PathLike[str]) -> Place:
    """Returns the place that a path names."""
    text = os.fspath(path).removeprefix("file://")
    if is_remote(text):
        from paceline.checkpoint.remote import RemotePlace

        return RemotePlace(text)
    return LocalPlace(text)


class LocalPlace:
    """A directory of a file system of this machine, network file systems included.

    A folder is filled under another name, each of its files and it itself are made durable, then it is renamed.

    Args:
        root: The directory; made when something is written.
    """

    def __init__(self, root: str) -> None:
        self.root = os.path.abspath(root)

    def names(self, name: str) -> list[str]:
        """Returns what a folder holds, nothing where there is none."""
        try:
            return sorted(os.listdir(self._path(name)))
        except FileNotFoundError:
            return []

    def exists(self, name: str) -> bool:
        """Returns whether there is such a file."""
        try:
            return stat.S_ISREG(os.stat(self._path(name)).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return False

    def read(self, name: str) -> np.ndarray:
        """Returns a file's content, uint8."""
        with open(self._path(name), "rb", buffering=0) as file:
            content = np.empty(os.fstat(file.fileno()).st_size, np.uint8)
            view = memoryview(content)
            filled = 0
            while filled < len(view) and (got := file.readinto(view[filled:])):
                filled += got
        return content[:filled]

    def begin(self, name: str, *, shares: int, num_bytes: int) -> str:
        """Makes the folder that is filled before it becomes `name`; one for all workers where there are shares.

        Refuses what obviously has no room: `num_bytes` is what this worker is going to write.
        """
        own = f"of-{shares}" if shares > 1 else secrets.token_hex(4)
        working = f"{UNFINISHED}{name.replace('/', '-')}-{own}"
        self._make(self.root)
        self._check_space(num_bytes)
        self._make(self._path(working))
        return working

    def create(self, name: str) -> LocalSink:
        """Returns a new file."""
        return LocalSink(self._path(name))

    def complete(self, working: str, name: str) -> None:
        """Makes a filled folder the one of that name, in one step."""
        target = self._path(name)
        parent = os.path.dirname(target)
        self._make(parent)
        self._sync(self._path(working))
        if not os.path.isdir(target):
            os.rename(self._path(working), target)
            self._sync(parent)
            return
        if exchange(self._path(working), target):
            self._sync(parent)
            self.remove(working)
            return
        # Out of the way, where `tidy` finds it should this process end in between.
        replaced = f"{REPLACED}{name.replace('/', '-')}"
        self.remove(replaced)
        os.rename(target, self._path(replaced))
        os.rename(self._path(working), target)
        self._sync(parent)
        self.remove(replaced)

    def replace(self, name: str, content: bytes) -> None:
        """Writes a file whole or not at all."""
        self._make(self.root)
        temporary = f"{UNFINISHED}{name}-{secrets.token_hex(4)}"
        sink = self.create(temporary)
        try:
            sink.write(memoryview(content))
            sink.finish()
            os.replace(self._path(temporary), self._path(name))
        except OSError:
            sink.abandon()
            with contextlib.suppress(OSError):
                self.remove(temporary)
            raise
        self._sync(self.root)

    def set_aside(self, name: str, other: str) -> None:
        """Renames a folder."""
        self.remove(other)
        os.rename(self._path(name), self._path(other))
        self._sync(self.root)

    def remove(self, name: str) -> None:
        """Removes a folder with all that it holds, or a file, if there is one.

        It loses its name first: what is left if this process ends in between is not taken for a checkpoint.
        """
        path = self._path(name)
        if not os.path.isdir(path):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            return
        if not name.startswith(UNFINISHED):
            gone = self._path(f"{UNFINISHED}{name.lstrip('.').replace('/', '-')}-{secrets.token_hex(4)}")
            os.rename(path, gone)
            path = gone
        shutil.rmtree(path)

    def tidy(self) -> list[str]:
        """Removes what dead writers left, and returns its names; puts back what was being replaced."""
        removed = []
        for name in self.names(""):
            if name.startswith(REPLACED):
                original = name.removeprefix(REPLACED).replace("fits-", "fits/", 1)
                if not os.path.exists(self._path(original)):
                    os.rename(self._path(name), self._path(original))
                    continue
            elif not name.startswith(UNFINISHED):
                continue
            self.remove(name)
            removed.append(name)
        return removed

    def _path(self, name: str) -> str:
        return os.path.join(self.root, name) if name else self.root

    def _check_space(self, num_bytes: int) -> None:
        """Spares a disk that has no room from being filled at each attempt. Quotas are found out by writing."""
        facts = os.statvfs(self.root)
        if facts.f_blocks and facts.f_bfree * facts.f_frsize < num_bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.root)

    def _make(self, path: str) -> None:
        """Makes a folder and those above it, durable; it may be there."""
        if os.path.isdir(path):
            return
        parent = os.path.dirname(path)
        self._make(parent)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path)
        if not os.path.basename(path).startswith(UNFINISHED):
            self._sync(parent)

    @staticmethod
    def _sync(folder: str) -> None:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def exchange(one: str, other: str) -> bool:
    """Exchanges the names of two folders in one step; returns False where the system or the file system cannot.

    Source: renameat2(2), RENAME_EXCHANGE; not on NFS.
    """
    function = getattr(ctypes.CDLL(None), "renameat2", None)
    return function is not None and function(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _EXCHANGE) == 0


class LocalSink:
    """A file that is being written without a buffer of its own.

    Args:
        path: The file, created anew.
    """

    def __init__(self, path: str) -> None:
        self._file: Any = open(path, "wb", buffering=0)  # noqa: SIM115 - closed by finish or abandon

    def write(self, piece: memoryview) -> None:
        """Appends a piece, all of it."""
        while piece:
            piece = piece[self._file.write(piece) :]

    def finish(self) -> None:
        """Makes sure that what was written stays, and closes."""
        os.fsync(self._file.fileno())
        self._file.close()

    def abandon(self) -> None:
        """Closes, whatever becomes of the content."""
        with contextlib.suppress(OSError):
            self._file.close()
