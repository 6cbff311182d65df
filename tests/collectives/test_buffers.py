import numpy as np

from paceline.collectives.buffers import Buffers

SHAPE = (40_000,)


def test_what_is_held_is_not_given_out_again():
    buffers = Buffers()
    held = [buffers.take(SHAPE, np.float32) for _ in range(3)]
    assert len({array.ctypes.data for array in held}) == 3


def test_what_was_let_go_of_is_used_again():
    buffers = Buffers()
    first = buffers.take(SHAPE, np.float32)
    address = first.ctypes.data
    del first
    assert buffers.take(SHAPE, np.float32).ctypes.data == address


def test_a_view_holds_its_array():
    buffers = Buffers()
    first = buffers.take(SHAPE, np.float32)
    part = first[1:]
    address = first.ctypes.data
    del first
    assert buffers.take(SHAPE, np.float32).ctypes.data != address
    assert part.size == SHAPE[0] - 1


def test_arrays_begin_where_tensorflow_takes_them_uncopied():
    buffers = Buffers()
    assert [buffers.take((n,), np.float64).ctypes.data % 64 for n in (20_000, 20_001, 33_333)] == [0, 0, 0]


def test_more_than_are_kept():
    buffers = Buffers()
    held = [buffers.take(SHAPE, np.float32) for _ in range(20)]
    assert len({array.ctypes.data for array in held}) == 20
