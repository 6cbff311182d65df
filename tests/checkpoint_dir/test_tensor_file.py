"""A header is read as it was written; whatever else is there is refused, never misread."""

import json
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.checkpoint_dir.tensor_file import BadTensorFile, TensorFacts, decode_header, encode_header


def header(**tensors):
    text = json.dumps({name: {"dtype": d, "shape": s, "data_offsets": o} for name, (d, s, o) in tensors.items()})
    return struct.pack("<Q", len(text)) + text.encode()


GOOD = {"a": ("F32", [2, 3], [0, 24]), "b": ("BF16", [], [24, 26]), "c": ("I64", [0, 5], [26, 26])}


def test_what_was_written_is_read():
    tensors = {
        "a": TensorFacts(dtype="F32", shape=(2, 3), begin=0, end=24),
        "z": TensorFacts(dtype="U8", shape=(1, 16), begin=24, end=40),
    }
    content = encode_header(tensors, {"z": "complex128"})
    assert len(content) % 64 == 0
    found = decode_header(content)
    assert (found.tensors, found.dtypes) == (tensors, {"z": "complex128"})
    assert (found.data_offset, found.num_bytes) == (len(content), len(content) + 40)


def test_a_header_of_somebody_else_is_read():
    assert set(decode_header(header(**GOOD)).tensors) == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"a": ("F32", [2, 3], [0, 20])}, "20 bytes"),
        ({"a": ("F32", [2, -3], [0, 24])}, "24 bytes"),
        ({"a": ("F33", [2, 3], [0, 24])}, "damaged"),
        ({"b": ("BF16", [], [25, 27])}, "begins at"),
        ({"b": ("BF16", [], [22, 24])}, "begins at"),
        ({"a": ("F32", "x", [0, 24])}, "damaged"),
        ({"a": ("F32", [2, 3], [0])}, "damaged"),
    ],
)
def test_what_does_not_add_up_is_refused(changed, reason):
    with pytest.raises(BadTensorFile, match=reason):
        decode_header(header(**{**GOOD, **changed}))


@pytest.mark.parametrize("content", [b"", b"1234567", struct.pack("<Q", 1 << 40), struct.pack("<Q", 100) + b"{}"])
def test_what_is_cut_off_is_refused(content):
    with pytest.raises(BadTensorFile):
        decode_header(content)


@given(st.binary(max_size=60))
def test_no_text_makes_it_fail_otherwise(text):
    try:
        decode_header(struct.pack("<Q", len(text)) + text)
    except BadTensorFile:
        pass


@settings(max_examples=40)
@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda it: st.lists(it) | st.dictionaries(st.text(max_size=12), it),
    )
)
def test_no_json_makes_it_fail_otherwise(value):
    text = json.dumps(value).encode()
    try:
        decode_header(struct.pack("<Q", len(text)) + text)
    except BadTensorFile:
        pass
