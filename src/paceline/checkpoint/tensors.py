"""Arrays as a safetensors file, and back.

Not by the library `safetensors` itself: it writes a file without its checksum, which then takes a second pass, and
reads no bfloat16 and float8 as NumPy arrays. A test compares files with it, both ways.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

from paceline.checkpoint.faults import Unfit
from paceline.checkpoint_dir import tensor_file
from paceline.checkpoint_dir.tensor_file import BadTensorFile, TensorFacts, decode_header, encode_header

# `ml_dtypes` is imported for this: it teaches NumPy the names bfloat16 and float8.
_DTYPES = {name: np.dtype(getattr(ml_dtypes, ours, ours)) for name, (ours, _) in tensor_file.DTYPES.items()}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_BYTES = "U8"


def encode(tensors: dict[str, np.ndarray]) -> list[memoryview]:
    """Returns the pieces of a file, the header first; the data are not copied where they lie in C order.

    Args:
        tensors: Name -> array of numbers, any shape.

    Raises:
        Unfit: An array of text or objects.
    """
    facts: dict[str, TensorFacts] = {}
    others: dict[str, str] = {}
    pieces: list[memoryview] = []
    end = 0
    # The widest dtypes first: each tensor then lies at a multiple of its own width.
    for name in sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name)):
        array = tensors[name]
        dtype = array.dtype.newbyteorder("=")
        shape = array.shape
        if dtype not in _NAMES:
            others[name] = _other(name, dtype)
            shape = (*shape, dtype.itemsize)
        data = np.ascontiguousarray(array, dtype).reshape(-1).view(np.uint8)
        facts[name] = TensorFacts(dtype=_NAMES.get(dtype, _BYTES), shape=shape, begin=end, end=end + data.nbytes)
        end += data.nbytes
        if data.nbytes:
            pieces.append(data.data)
    return [memoryview(encode_header(facts, others)), *pieces]


def decode(content: np.ndarray) -> dict[str, np.ndarray]:
    """Returns the arrays of a file; they share its memory.

    Args:
        content: The whole file, uint8.

    Raises:
        BadTensorFile: It is no such file.
    """
    header = decode_header(memoryview(content))
    if header.num_bytes != content.nbytes:
        raise BadTensorFile(f"it has {content.nbytes} bytes instead of {header.num_bytes}")
    data = content[header.data_offset :]
    arrays = {}
    for name, facts in header.tensors.items():
        shape, dtype = facts.shape, _DTYPES.get(facts.dtype)
        if name in header.dtypes:
            shape, dtype = shape[:-1], _dtype(header.dtypes[name])
        if dtype is None:
            raise BadTensorFile(f"{name} has the dtype {facts.dtype}, which NumPy has not")
        arrays[name] = data[facts.begin : facts.end].view(dtype).reshape(shape)
    return arrays


def _other(name: str, dtype: np.dtype) -> str:
    """Returns the name of a dtype that the format has no name for."""
    try:
        if dtype.kind in "biufcV" and np.dtype(dtype.name) == dtype:
            return dtype.name
    except TypeError:
        pass
    raise Unfit(f"{name} is of dtype {dtype}: only numbers can be kept")


def _dtype(name: str) -> np.dtype:
    try:
        return np.dtype(name)
    except TypeError as error:
        raise BadTensorFile(f"the dtype {name} is unknown here") from error
