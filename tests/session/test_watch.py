"""A worker enters a collective once the others have come; it waits for nobody whose page it cannot read."""

from __future__ import annotations

import queue
import sys
import threading
import time
import timeit

import pytest

from paceline.errors import ScriptRefused
from paceline.journal.status import Phase, StatusReader, StatusWriter
from paceline.session import lookout
from paceline.session.watch import StatusWatch


def pages(tmp_path, number=2):
    """Returns a watch for each worker; only the first looks at the others."""
    watches = [StatusWatch(StatusWriter(tmp_path / str(rank)), rank) for rank in range(number)]
    readers = {rank: StatusReader(tmp_path / str(rank)) for rank in range(1, number)}
    for reader in readers.values():
        reader.read()
    watches[0].peers = readers
    return watches


def test_it_enters_at_once_where_the_others_are(tmp_path):
    first, *others = pages(tmp_path, 3)
    for other in others:
        with other.inside("sum", 8):
            pass
    with first.inside("sum", 8):
        assert (first.status.collectives, first.status.phase) == (1, Phase.REDUCE)
    assert first.status.phase == Phase.START


def test_it_waits_for_the_last(tmp_path):
    first, second, last = pages(tmp_path, 3)
    second.enter_step()
    entered = threading.Event()

    def enter():
        first.enter_step()
        with first.inside("sum"):
            entered.set()

    thread = threading.Thread(target=enter)
    thread.start()
    while first.status.collectives < 2:
        time.sleep(0.001)
    assert not entered.wait(0.2)
    assert first.status.phase == Phase.REDUCE  # others see that it waits
    for other in (second, last):
        if other is last:
            other.enter_step()
        with other.inside("sum"):
            pass
    assert entered.wait(10)
    thread.join()


def test_it_does_not_enter_where_another_is_in_another_call(tmp_path):
    first, second, third = pages(tmp_path, 3)
    for watch in (first, second):
        watch.calls.begins("fit")
    third.calls.begins("predict")
    second.enter_step()
    third.enter_step()
    first.enter_step()  # a step is counted, and looks at nobody
    with pytest.raises(ScriptRefused, match="predict in worker 2") as caught, first.inside("sum"):
        pytest.fail("it has entered")
    assert "fit in workers 0 and 1" in caught.value.got
    assert first.refused is caught.value
    assert first.status.phase == Phase.START


def test_it_waits_for_no_page_that_is_not_there(tmp_path):
    watch = StatusWatch(StatusWriter(tmp_path / "0"))
    watch.peers = {1: StatusReader(tmp_path / "1")}
    with watch.inside("barrier"):
        assert watch.status.collectives == 1


def test_a_step_counts_cheaply(tmp_path):
    """A step of 1 ms must not notice: the limit is a hundredth of it, some five times what is measured."""
    first, second = pages(tmp_path)
    first.calls.begins("fit")
    seconds = min(timeit.repeat(first.enter_step, number=1000, repeat=5)) / 1000
    assert seconds < 1e-5 * (1 if not sys.gettrace() else 20)
    assert not first.calls.contradict(second.calls.last)


@pytest.mark.parametrize("phase", [Phase.STEP, Phase.CALLBACK])
def test_the_lookout_ends_who_waits_inside_tensorflow(tmp_path, monkeypatch, phase):
    monkeypatch.setattr(lookout, "_EVERY_S", 0.01)
    monkeypatch.setattr(lookout, "_PATIENCE_S", 0.05)
    first, second = pages(tmp_path)
    first.calls.begins("fit")
    second.calls.begins("predict")
    for watch in (first, second):
        watch.enter_step()
    first.status.set_phase(phase)
    ended: queue.Queue[ScriptRefused] = queue.Queue()
    threading.Thread(target=lookout.look, args=(first, ended.put), daemon=True).start()
    if phase == Phase.CALLBACK:  # Python runs there, and will come to a collective
        with pytest.raises(queue.Empty):
            ended.get(timeout=0.3)
        first.status.set_phase(Phase.STEP)
    assert ended.get(timeout=10).got == "fit in worker 0, predict in worker 1"


def test_a_reader_counts_collectives_and_can_be_closed(tmp_path):
    writer, reader = StatusWriter(tmp_path / "0"), StatusReader(tmp_path / "0")
    assert reader.collectives is None
    reader.read()
    writer.enter_collective(7)
    assert reader.collectives == reader.read().collectives == 1
    assert reader.entered == 7
    reader.close()
    assert reader.collectives is reader.entered is None
