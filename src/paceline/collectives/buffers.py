"""Arrays that sums are received in, used again when TensorFlow has let go of them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

#: TensorFlow takes an array as a tensor without copying it where it begins at such an address (EIGEN_MAX_ALIGN_BYTES).
_ALIGNMENT = 64
#: Smaller arrays are made anew: that takes less than looking for one.
_LEAST_BYTES = 1 << 16
#: More arrays of one kind than this are never held at the same time by one step.
_MOST = 8


class _Kept:
    """An array and the memory that it lies in; NumPy's views of the array refer to the memory, not to the array."""

    def __init__(self, shape: tuple[int, ...], dtype: Any, size: int) -> None:
        self.memory = np.empty(size + _ALIGNMENT, np.uint8)
        start = -self.memory.ctypes.data % _ALIGNMENT
        self.array = self.memory[start : start + size].view(dtype).reshape(shape)
        self._unused = self._references()

    def _references(self) -> tuple[int, int]:
        return sys.getrefcount(self.memory), sys.getrefcount(self.array)

    @property
    def is_free(self) -> bool:
        """Whether nobody else holds the array, a view of it, or a tensor in its memory."""
        return self._references() == self._unused


class Buffers:
    """A few arrays of each size and dtype; fresh memory of a megabyte costs 256 page faults."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Any, tuple[int, ...]], list[_Kept]] = {}

    def take(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
        """Returns an array of any content that nobody else holds."""
        dtype = np.dtype(dtype)
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        if size < _LEAST_BYTES:
            return np.empty(shape, dtype)
        kept = self._kept.setdefault((dtype, shape), [])
        for buffer in kept:
            if buffer.is_free:
                return buffer.array
        if len(kept) == _MOST:
            return np.empty(shape, dtype)
        kept.append(_Kept(shape, dtype, size))
        return kept[-1].array
