"""Arrays as a safetensors file, and back.

Not by the library `safetensors` itself: it writes a file without its checksum, which then takes a second pass, and
reads no bfloat16 and float8 as NumPy arrays. A test compares files with it, both ways.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

from paceline.checkpoint.faults import Unfit
from paceline.checkpoint_dir.tensor_file import BadTensorFile, TensorFacts, decode_header, encode_header

DTYPES = {
    "BOOL": np.dtype(np.bool_),
    "U8": np.dtype(np.uint8),
    "I8": np.dtype(np.int8),
    "U16": np.dtype(np.uint16),
    "I16": np.dtype(np.int16),
    "U32": np.dtype(np.uint32),
    "I32": np.dtype(np.int32),
    "U64": np.dtype(np.uint64),
    "I64": np.dtype(np.int64),
    "F16": np.dtype(np.float16),
    "F32": np.dtype(np.float32),
    "F64": np.dtype(np.float64),
    "C64": np.dtype(np.complex64),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}
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
        shape, dtype = facts.shape, DTYPES.get(facts.dtype)
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
