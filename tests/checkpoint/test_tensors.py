"""Arrays come back as they were; the library `safetensors` reads what we write, and we what it writes."""

import ml_dtypes
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save

from paceline.checkpoint.faults import Unfit
from paceline.checkpoint.tensors import decode, encode
from paceline.checkpoint_dir.tensor_file import BadTensorFile

INTEGERS = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
OF_THE_LIBRARY = ["bool", *INTEGERS, "float16", "float32", "float64", "complex64"]


def content_of(arrays):
    return np.frombuffer(b"".join(bytes(piece) for piece in encode(arrays)), np.uint8)


def test_all_dtypes_and_shapes_come_back(arrays_of, assert_same):
    arrays = arrays_of()
    assert_same(decode(content_of(arrays)), arrays)


def test_other_byte_orders_come_back_in_our_own(assert_same):
    arrays = {"big": np.arange(6, dtype=">f8"), "strided": np.arange(12, dtype=np.int16)[::3]}
    assert_same(decode(content_of(arrays)), arrays)


def test_each_array_lies_where_its_dtype_wants_it(arrays_of):
    arrays = decode(content_of(arrays_of()))
    assert all(array.flags.aligned for array in arrays.values())


def test_nothing_at_all_comes_back():
    assert decode(content_of({})) == {}


def test_the_library_reads_what_we_write(tmp_path, arrays_of, assert_same):
    arrays = arrays_of(OF_THE_LIBRARY)
    (tmp_path / "ours").write_bytes(content_of(arrays))
    with safe_open(tmp_path / "ours", framework="np") as file:
        assert_same({name: file.get_tensor(name) for name in file.keys()}, arrays)  # noqa: SIM118 - no mapping


def test_the_library_knows_our_names_of_dtypes(tmp_path, arrays_of):
    arrays = arrays_of([ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
    (tmp_path / "ours").write_bytes(content_of(arrays))
    with safe_open(tmp_path / "ours", framework="np") as file:
        found = {file.get_slice(name).get_dtype() for name in file.keys()}  # noqa: SIM118 - no mapping
    assert found == {"BF16", "F8_E4M3", "F8_E5M2"}


def test_we_read_what_the_library_writes(arrays_of, assert_same):
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays_of(OF_THE_LIBRARY).items()}
    assert_same(decode(np.frombuffer(save(arrays), np.uint8)), arrays)


@pytest.mark.parametrize("array", [np.array(["a"]), np.array([b"a"]), np.array([None]), np.array(["2020"], "M8[s]")])
def test_what_is_no_number_is_refused_by_name(array):
    with pytest.raises(Unfit, match="model/words"):
        encode({"model/words": array})


def test_a_file_with_more_at_its_end_is_refused(arrays_of):
    with pytest.raises(BadTensorFile, match="bytes instead of"):
        decode(np.append(content_of(arrays_of(["int8"])), np.uint8(0)))
