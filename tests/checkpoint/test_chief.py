"""The chief writes, the others wait for what it will write, and do themselves what it will not."""

from __future__ import annotations

import threading
import time

import pytest

from paceline.checkpoint.chief import ChiefWrites
from paceline.journal.status import Phase, StatusWriter

LIMIT_S = 20


@pytest.fixture
def pair(tmp_path):
    """The writes of a chief and of one other worker, with their status pages."""
    pages = []
    for rank in range(2):
        (tmp_path / f"worker-{rank}").mkdir()
        pages.append(StatusWriter(tmp_path / f"worker-{rank}" / "status"))
    writes = [ChiefWrites(rank, 2, pages[rank], tmp_path) for rank in range(2)]
    yield writes, pages
    for each in writes:
        each.close()


class InThread:
    """Runs a call in a thread and keeps what it returns."""

    def __init__(self, call):
        self.result = None
        self._thread = threading.Thread(target=self._run, args=(call,), daemon=True)
        self._thread.start()

    def _run(self, call):
        self.result = call()

    def wait(self):
        self._thread.join(LIMIT_S)
        assert not self._thread.is_alive(), "it waits for ever"
        return self.result

    @property
    def waits(self):
        time.sleep(0.2)
        return self._thread.is_alive()


def test_a_worker_returns_once_the_chief_has_written(pair):
    (chief, other), _ = pair
    done = []
    waiting = InThread(lambda: other.write("model.keras", lambda: done.append("other")))
    assert waiting.waits
    assert chief.write("model.keras", lambda: done.append("chief")).done_here
    assert not waiting.wait().done_here
    assert done == ["chief"]


def test_writes_of_one_path_are_counted(pair):
    (chief, other), _ = pair
    chief.write("model.keras", lambda: None)
    assert not other.write("model.keras", lambda: None).done_here
    waiting = InThread(lambda: other.write("model.keras", lambda: None))
    assert waiting.waits, "the second write is another one"
    chief.write("model.keras", lambda: None)
    assert not waiting.wait().done_here


def test_the_chief_alone_does_not_wait(pair):
    (chief, _), _ = pair
    assert chief.write("model.keras", lambda: 7) == (True, 7)


def test_a_worker_writes_its_own_path_when_the_chief_has_ended(pair):
    (_, other), pages = pair
    pages[0].set_phase(Phase.END)
    assert InThread(lambda: other.write("temporary/worker_1", lambda: "mine")).wait() == (True, "mine")


def test_a_worker_writes_its_own_path_when_the_chief_waits_for_it_elsewhere(pair):
    (_, other), pages = pair
    waiting = InThread(lambda: other.write("temporary/worker_1", lambda: "mine"))
    assert waiting.waits
    pages[0].enter_collective()
    assert waiting.wait() == (True, "mine")


def test_what_the_chief_returned_is_known_to_the_others(pair):
    (chief, other), _ = pair
    chief.write("ckpt", lambda: "ckpt-3")
    assert other.write("ckpt", lambda: "never") == (False, "ckpt-3")


def test_a_write_inside_a_write_is_part_of_it(pair):
    (chief, other), _ = pair
    chief.write("outer", lambda: chief.write("inner", lambda: None))
    assert not other.write("outer", lambda: None).done_here


def test_a_write_that_fails_raises_and_is_not_recorded(pair):
    (chief, other), pages = pair

    def fail():
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        chief.write("model.keras", fail)
    assert pages[0].saves == 0
    waiting = InThread(lambda: other.write("model.keras", lambda: "mine"))
    assert waiting.waits
    pages[0].set_phase(Phase.END)
    assert waiting.wait().done_here


def test_one_worker_writes_at_once(tmp_path):
    (tmp_path / "worker-0").mkdir()
    status = StatusWriter(tmp_path / "worker-0" / "status")
    assert ChiefWrites(0, 1, status, tmp_path).write("x", lambda: 1) == (True, 1)
