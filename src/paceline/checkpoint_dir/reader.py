"""Reading a checkpoint directory, wherever it lies."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Protocol

CHUNK_BYTES = 1 << 20


class Reader(Protocol):
    """A directory. Names are relative to it, with `/`; what fails raises OSError, whatever the kind of place."""

    root: str

    def names(self, name: str) -> list[str]:
        """Returns what a folder holds, sorted; nothing where there is none."""

    def is_folder(self, name: str) -> bool:
        """Returns whether there is such a folder."""

    def size(self, name: str) -> int:
        """Returns the size of a file in bytes."""

    def chunks(self, name: str) -> Iterator[memoryview]:
        """Returns the content of a file, piece by piece; a piece is valid until the next one."""


class LocalReader:
    """A directory of a file system of this machine.

    Args:
        root: The directory.
    """

    def __init__(self, root: str) -> None:
        self.root = os.path.abspath(root)

    def names(self, name: str) -> list[str]:
        """Returns what a folder holds, sorted; nothing where there is none."""
        try:
            return sorted(os.listdir(self._path(name)))
        except FileNotFoundError:
            return []

    def is_folder(self, name: str) -> bool:
        """Returns whether there is such a folder."""
        try:
            return stat.S_ISDIR(os.stat(self._path(name)).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return False

    def size(self, name: str) -> int:
        """Returns the size of a file in bytes."""
        return os.stat(self._path(name)).st_size

    def chunks(self, name: str) -> Iterator[memoryview]:
        """Returns the content of a file, piece by piece; a piece is valid until the next one."""
        buffer = bytearray(CHUNK_BYTES)
        with open(self._path(name), "rb", buffering=0) as file:
            while size := file.readinto(buffer):
                yield memoryview(buffer)[:size]

    def _path(self, name: str) -> str:
        return os.path.join(self.root, name) if name else self.root
