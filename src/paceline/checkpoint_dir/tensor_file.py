"""The header of a safetensors file: 8 bytes of length, JSON, then the data, without a gap.

Source: https://github.com/huggingface/safetensors#format
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from math import prod
from typing import Any

DTYPES = {
    "BOOL": ("bool", 1),
    "U8": ("uint8", 1),
    "I8": ("int8", 1),
    "F8_E4M3": ("float8_e4m3fn", 1),
    "F8_E5M2": ("float8_e5m2", 1),
    "U16": ("uint16", 2),
    "I16": ("int16", 2),
    "F16": ("float16", 2),
    "BF16": ("bfloat16", 2),
    "U32": ("uint32", 4),
    "I32": ("int32", 4),
    "F32": ("float32", 4),
    "U64": ("uint64", 8),
    "I64": ("int64", 8),
    "F64": ("float64", 8),
    "C64": ("complex64", 8),
}
"""The format's name of a dtype -> ours, and its width in bytes."""
METADATA = "__metadata__"
OTHER_DTYPES = "paceline_dtypes"
"""Key of the metadata: JSON of tensor -> dtype, of those that the format has no name for; they lie there as bytes."""
MAX_HEADER_BYTES = 100_000_000  # the library's own limit
_LENGTH = struct.Struct("<Q")
LENGTH_BYTES = _LENGTH.size
_ALIGNED_BYTES = 64


class BadTensorFile(ValueError):
    """A file is no safetensors file; the text says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TensorFacts:
    """Where a tensor lies in a file.

    Attributes:
        dtype: The format's name of it.
        shape: As it lies there.
        begin: First byte, counted from the end of the header.
        end: One past the last byte.
    """

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Header:
    """The header of a file of tensors.

    Attributes:
        tensors: Name -> where it lies.
        data_offset: Where the data begin.
        num_bytes: How long the whole file is.
        dtypes: Tensor -> dtype, of those that lie there as bytes.
    """

    tensors: dict[str, TensorFacts]
    data_offset: int
    num_bytes: int
    dtypes: dict[str, str]


def encode_header(tensors: dict[str, TensorFacts], dtypes: dict[str, str]) -> bytes:
    """Returns the bytes before the data: a multiple of 64, so that each tensor lies where its dtype wants it."""
    content: dict[str, Any] = {METADATA: {OTHER_DTYPES: json.dumps(dtypes)}} if dtypes else {}
    for name, facts in tensors.items():
        content[name] = {
            "dtype": facts.dtype,
            "shape": list(facts.shape),
            "data_offsets": [facts.begin, facts.end],
        }
    text = json.dumps(content, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + LENGTH_BYTES) % _ALIGNED_BYTES)
    return _LENGTH.pack(len(text)) + text


def decode_length(content: bytes | bytearray | memoryview) -> int:
    """Returns how many bytes of JSON follow the first eight.

    Raises:
        BadTensorFile: They are no length.
    """
    if len(content) < LENGTH_BYTES:
        raise BadTensorFile(f"it ends after {len(content)} bytes, within the length of its header")
    length: int = _LENGTH.unpack(content[:LENGTH_BYTES])[0]
    if length > MAX_HEADER_BYTES:
        raise BadTensorFile("it does not begin as a safetensors file does")
    return length


def decode_header(content: bytes | bytearray | memoryview) -> Header:
    """Returns the header of a file; checks that its tensors fill the data without a gap.

    Args:
        content: At least the first bytes of the file, the header whole.

    Raises:
        BadTensorFile: It is no such file.
    """
    length = decode_length(content)
    text = bytes(content[LENGTH_BYTES : LENGTH_BYTES + length])
    if len(text) < length:
        raise BadTensorFile("it ends within its header")
    try:
        value = json.loads(text)
        dtypes = json.loads(value.pop(METADATA, {}).get(OTHER_DTYPES, "{}"))
        tensors = {name: _facts(name, entry) for name, entry in value.items()}
    except BadTensorFile:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadTensorFile(f"its header is damaged ({type(error).__name__}: {error})") from error
    end = 0
    for name, facts in sorted(tensors.items(), key=lambda item: (item[1].begin, item[1].end)):
        if facts.begin != end:
            raise BadTensorFile(f"its header is damaged: {name} begins at {facts.begin}, not at {end}")
        end = facts.end
    offset = LENGTH_BYTES + length
    return Header(tensors=tensors, data_offset=offset, num_bytes=offset + end, dtypes=dtypes)


def _facts(name: str, entry: dict[str, Any]) -> TensorFacts:
    begin, end = entry["data_offsets"]
    shape = tuple(int(size) for size in entry["shape"])
    if any(size < 0 for size in shape) or DTYPES[entry["dtype"]][1] * prod(shape) != end - begin:
        raise BadTensorFile(f"its header is damaged: {name} has {end - begin} bytes for {entry['dtype']}{list(shape)}")
    return TensorFacts(dtype=entry["dtype"], shape=shape, begin=begin, end=end)
