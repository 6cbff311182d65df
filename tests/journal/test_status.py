"""The status page: the layout of the contract, and what a reader meets."""

import math
import struct
import timeit

import pytest

from paceline.journal.status import PAGE_BYTES, Phase, Status, StatusReader, StatusWriter


def test_what_is_written_is_read(tmp_path):
    writer, reader = StatusWriter(tmp_path / "status"), StatusReader(tmp_path / "status")
    assert reader.read() == Status() or math.isnan(reader.read().loss)
    writer.set_phase(Phase.REDUCE)
    writer.set_step(12, epoch=1, step_in_epoch=4, steps_per_epoch=8, samples=1536, loss=0.5)
    writer.enter_collective()
    writer.enter_collective()
    writer.add_save()
    read = reader.read()
    assert read.updated > 0
    assert read == Status(
        phase=Phase.REDUCE,
        step=12,
        collectives=2,
        saves=1,
        samples=1536,
        loss=0.5,
        updated=read.updated,
        epoch=1,
        step_in_epoch=4,
        steps_per_epoch=8,
    )
    assert (writer.phase, writer.collectives, writer.saves) == (Phase.REDUCE, 2, 1)


def test_layout_is_the_contract(tmp_path):
    writer = StatusWriter(tmp_path / "status")
    writer.set_phase(Phase.TRACE)
    writer.set_step(2, epoch=3, step_in_epoch=4, steps_per_epoch=5, samples=6, loss=7.0)
    data = (tmp_path / "status").read_bytes()
    assert len(data) == PAGE_BYTES == 128
    magic, phase, step, collectives, saves, samples, loss, _, *rest = struct.unpack_from("<4sIqqqqddqqqq", data)
    assert (magic, phase, step, collectives, saves, samples, loss) == (b"PLS1", Phase.TRACE, 2, 0, 0, 6, 7.0)
    assert rest == [3, 4, 5, 0]
    assert data[88:] == bytes(40)


@pytest.mark.parametrize("content", [None, b"", b"PLS1", b"x" * 128])
def test_reader_bears_what_is_no_page(tmp_path, content):
    path = tmp_path / "status"
    if content is not None:
        path.write_bytes(content)
    reader = StatusReader(path)
    assert reader.read().updated == 0.0
    path.unlink(missing_ok=True)
    StatusWriter(path).set_step(3)
    assert reader.read().step == 3  # it comes to life later


def test_unknown_phase_of_a_newer_version(tmp_path):
    StatusWriter(tmp_path / "status")
    with (tmp_path / "status").open("r+b") as file:
        file.seek(4)
        file.write(struct.pack("<I", 99))
    assert StatusReader(tmp_path / "status").read().phase == Phase.SCRIPT


def test_page_that_cannot_be_made_does_not_stop_the_worker(tmp_path):
    with pytest.warns(UserWarning, match="no live status"):
        writer = StatusWriter(tmp_path / "missing folder" / "status")
    writer.set_step(1)
    writer.set_phase(Phase.END)
    assert writer.phase == Phase.END


def test_setting_is_cheap(tmp_path):
    """A step of 100 us must not notice: the limit is a tenth of it, some ten times what is measured."""
    writer = StatusWriter(tmp_path / "status")
    seconds = min(timeit.repeat(lambda: writer.set_step(1, samples=128, loss=0.1), number=1000, repeat=5)) / 1000
    assert seconds < 10e-6
