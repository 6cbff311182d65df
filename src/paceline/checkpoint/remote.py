"""A checkpoint directory on what `tf.io.gfile` takes: object stores, which cannot rename a folder in one step."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from paceline.checkpoint_dir.layout import FITS, MANIFEST, step_of
from paceline.checkpoint_dir.reader import CHUNK_BYTES

_ERRNO = {
    tf.errors.NotFoundError: errno.ENOENT,
    tf.errors.PermissionDeniedError: errno.EACCES,
    tf.errors.UnauthenticatedError: errno.EACCES,
    tf.errors.ResourceExhaustedError: errno.ENOSPC,
    tf.errors.AlreadyExistsError: errno.EEXIST,
    tf.errors.UnimplementedError: errno.ENOSYS,
    tf.errors.UnavailableError: errno.EAGAIN,
    tf.errors.DeadlineExceededError: errno.ETIMEDOUT,
}


class RemotePlace:
    """A directory on an object store: files are written where they stay, the manifest last.

    Args:
        root: Its URL.
    """

    def __init__(self, root: str) -> None:
        self.root = root.rstrip("/")

    def names(self, name: str) -> list[str]:
        """Returns what a folder holds, nothing where there is none."""
        path = self._path(name)
        with _as_os_error(path):
            if not tf.io.gfile.isdir(path):
                return []
            return sorted({entry.rstrip("/") for entry in tf.io.gfile.listdir(path)})

    def exists(self, name: str) -> bool:
        """Returns whether there is such a file."""
        path = self._path(name)
        with _as_os_error(path):
            return bool(tf.io.gfile.exists(path))

    def is_folder(self, name: str) -> bool:
        """Returns whether there is such a folder."""
        path = self._path(name)
        with _as_os_error(path):
            return bool(tf.io.gfile.isdir(path))

    def size(self, name: str) -> int:
        """Returns the size of a file in bytes."""
        path = self._path(name)
        with _as_os_error(path):
            return int(tf.io.gfile.stat(path).length)

    def chunks(self, name: str) -> Iterator[memoryview]:
        """Returns the content of a file, piece by piece."""
        path = self._path(name)
        with _as_os_error(path), tf.io.gfile.GFile(path, "rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                yield memoryview(chunk)

    def read(self, name: str) -> np.ndarray:
        """Returns a file's content, uint8."""
        path = self._path(name)
        with _as_os_error(path), tf.io.gfile.GFile(path, "rb") as file:
            return np.frombuffer(bytearray(file.read()), np.uint8)

    def begin(self, name: str, *, shares: int, num_bytes: int) -> str:
        """Makes the folder; without its manifest, what it held is no checkpoint any more."""
        path = self._path(name)
        with _as_os_error(path):
            tf.io.gfile.makedirs(path)
        self.remove(f"{name}/{MANIFEST}")
        return name

    def create(self, name: str) -> RemoteSink:
        """Returns a new file."""
        self.remove(name)  # not every file system of TensorFlow's truncates: ram:// appends (TensorFlow 2.21)
        return RemoteSink(self._path(name))

    def complete(self, working: str, name: str) -> None:
        """Nothing is left to do: the manifest is there."""

    def replace(self, name: str, content: bytes) -> None:
        """Writes a file; an object store shows it when it is whole."""
        with _as_os_error(self.root):
            tf.io.gfile.makedirs(self.root)
        sink = self.create(name)
        sink.write(memoryview(content))
        sink.finish()

    def set_aside(self, name: str, other: str) -> None:
        """Renames a folder."""
        self.remove(other)
        path = self._path(name)
        with _as_os_error(path):
            tf.io.gfile.rename(path, self._path(other))

    def remove(self, name: str) -> None:
        """Removes a folder with all that it holds, the manifest first, or a file, if there is one."""
        path = self._path(name)
        with _as_os_error(path), contextlib.suppress(tf.errors.NotFoundError):
            if not tf.io.gfile.isdir(path):
                tf.io.gfile.remove(path)
                return
            if tf.io.gfile.exists(f"{path}/{MANIFEST}"):
                tf.io.gfile.remove(f"{path}/{MANIFEST}")
            tf.io.gfile.rmtree(path)

    def tidy(self) -> list[str]:
        """Removes folders without a manifest, and returns their names: nobody writes when a job begins."""
        folders = [name for name in self.names("") if step_of(name) is not None]
        folders += [f"{FITS}/{name}" for name in self.names(FITS)]
        unfinished = [name for name in folders if not self.exists(f"{name}/{MANIFEST}")]
        for name in unfinished:
            self.remove(name)
        return unfinished

    def _path(self, name: str) -> str:
        return f"{self.root}/{name}" if name else self.root


class RemoteSink:
    """A file that is being written.

    Args:
        path: Its URL.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: Any = tf.io.gfile.GFile(path, "wb")

    def write(self, piece: memoryview) -> None:
        """Appends a piece, all of it."""
        with _as_os_error(self._path):
            self._file.write(bytes(piece))

    def finish(self) -> None:
        """Makes sure that what was written stays, and closes."""
        with _as_os_error(self._path):
            self._file.close()

    def abandon(self) -> None:
        """Closes, whatever becomes of the content."""
        with contextlib.suppress(tf.errors.OpError):
            self._file.close()


@contextlib.contextmanager
def _as_os_error(path: str) -> Iterator[None]:
    try:
        yield
    except tf.errors.OpError as error:
        number = next((number for kind, number in _ERRNO.items() if isinstance(error, kind)), errno.EIO)
        raise OSError(number, error.message, path) from error
