"""A worker enters a collective once the others have come; it waits for nobody whose page it cannot read."""

from __future__ import annotations

import threading
import time

from paceline.journal.status import Phase, StatusReader, StatusWriter
from paceline.session.watch import StatusWatch


def pages(tmp_path, number=2):
    writers = [StatusWriter(tmp_path / str(rank)) for rank in range(number)]
    readers = [StatusReader(tmp_path / str(rank)) for rank in range(1, number)]
    for reader in readers:
        reader.read()
    watch = StatusWatch(writers[0])
    watch.peers = readers
    return writers, watch


def test_it_enters_at_once_where_the_others_are(tmp_path):
    writers, watch = pages(tmp_path, 3)
    for writer in writers[1:]:
        writer.enter_collective()
    with watch.inside():
        assert (writers[0].collectives, writers[0].phase) == (1, Phase.REDUCE)
    assert writers[0].phase == Phase.START


def test_it_waits_for_the_last(tmp_path):
    writers, watch = pages(tmp_path, 3)
    writers[1].enter_collective()
    entered = threading.Event()

    def enter():
        with watch.inside():
            entered.set()

    thread = threading.Thread(target=enter)
    thread.start()
    while writers[0].collectives == 0:
        time.sleep(0.001)
    assert not entered.wait(0.2)
    assert writers[0].phase == Phase.REDUCE  # others see that it waits
    writers[2].enter_collective()
    assert entered.wait(10)
    thread.join()


def test_it_waits_for_no_page_that_is_not_there(tmp_path):
    writer = StatusWriter(tmp_path / "0")
    watch = StatusWatch(writer)
    watch.peers = [StatusReader(tmp_path / "1")]
    with watch.inside():
        assert writer.collectives == 1


def test_a_reader_counts_collectives_and_can_be_closed(tmp_path):
    writer, reader = StatusWriter(tmp_path / "0"), StatusReader(tmp_path / "0")
    assert reader.collectives is None
    reader.read()
    writer.enter_collective()
    assert reader.collectives == reader.read().collectives == 1
    reader.close()
    assert reader.collectives is None
