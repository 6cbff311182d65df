"""Training waits for the copy only; failures are told once each kind; nothing is lost."""

import os
import threading

import numpy as np
import pytest

from paceline.checkpoint.background import BackgroundWriter
from paceline.checkpoint.store import CheckpointStore
from paceline.errors import CheckpointNotWritten

LIMIT_S = 60


class Slow(CheckpointStore):
    """A store whose writes wait until they are let go, or fail with what they are given."""

    def __init__(self, path, told):
        super().__init__(path, tell=told.append)
        self.go = threading.Semaphore(0)
        self.begun = []
        self.errors = {}
        self.niceness = None

    def write(self, step, *args):
        self.begun.append(step)
        self.niceness = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
        assert self.go.acquire(timeout=LIMIT_S)
        if step in self.errors:
            raise self.errors[step]
        return super().write(step, *args)


@pytest.fixture
def slow(tmp_path, told):
    return Slow(tmp_path / "ckpt", told)


@pytest.fixture
def writer(slow):
    writer = BackgroundWriter(slow)
    yield writer
    slow.go.release(100)
    assert writer.flush(LIMIT_S)


def test_the_first_returns_at_once_and_the_second_waits_for_it(slow, writer, small):
    writer.submit(1, small, {})
    assert not writer.flush(0.05)
    second = threading.Thread(target=writer.submit, args=(2, small, {}))
    second.start()
    second.join(0.05)
    assert second.is_alive() and slow.begun in ([], [1])
    slow.go.release()
    second.join(LIMIT_S)
    assert not second.is_alive()
    slow.go.release()
    assert writer.flush(LIMIT_S)
    assert slow.steps() == [1, 2] and slow.begun == [1, 2] and writer.newest == 2


def test_who_wants_to_know_is_told_when_it_is_complete(slow, writer, small):
    done = []
    writer.submit(5, small, {}, then=lambda written: done.append((written, slow.steps())))
    slow.go.release()
    assert writer.flush(LIMIT_S)
    [(written, steps)] = done
    assert (written.step, written.path, steps) == (5, slow.path_of(5), [5])
    assert written.bytes > 1200 and written.seconds > 0


def test_what_fails_afterwards_is_told_and_costs_no_checkpoint(slow, writer, small, told):
    writer.submit(5, small, {}, then=lambda written: 1 // 0)
    slow.go.release()
    assert writer.flush(LIMIT_S)
    assert slow.steps() == [5] and writer.newest == 5 and not writer.is_failing
    assert len(told) == 1 and "ZeroDivisionError" in told[0]


def test_the_thread_gives_way_to_training(slow, writer, small):
    writer.submit(1, small, {})
    slow.go.release()
    assert writer.flush(LIMIT_S)
    assert slow.niceness == 19 and os.getpriority(os.PRIO_PROCESS, 0) < 19


def test_each_kind_of_failure_is_told_once_and_success_after_it_too(slow, writer, small, told):
    def not_written(number):
        error = CheckpointNotWritten("no", got=os.strerror(number))
        error.__cause__ = OSError(number, os.strerror(number))
        return error

    slow.errors = {1: not_written(28), 2: not_written(28), 3: not_written(5), 5: not_written(28), 6: ValueError("odd")}
    slow.go.release(100)
    for step in range(1, 8):
        writer.submit(step, small, {})
        assert writer.flush(LIMIT_S)
        assert writer.is_failing == (step in slow.errors)
    assert slow.steps() == [4, 7]
    firsts = [line.splitlines()[0] for line in told]
    assert firsts == [
        "no checkpoint of step 1; training goes on. no",
        "no checkpoint of step 3; training goes on. no",
        f"checkpoints can be written again: {slow.path_of(4)}",
        "no checkpoint of step 5; training goes on. no",
        "no checkpoint of step 6; training goes on. ValueError: odd",
        f"checkpoints can be written again: {slow.path_of(7)}",
    ]


def test_the_tensors_are_let_go_when_they_are_written(slow, writer):
    class Array(np.ndarray):
        """One whose end is seen."""

        gone = threading.Event()

        def __del__(self):
            self.gone.set()

    writer.submit(1, {"a": np.zeros(3).view(Array)}, {})
    slow.go.release()
    assert writer.flush(LIMIT_S)
    assert Array.gone.wait(LIMIT_S)


def test_copies_are_taken_when_the_last_ones_are_written_and_use_their_memory(slow, writer):
    source = {"a": np.arange(6.0).reshape(2, 3), "b": np.array(1)}
    first = writer.copy(source)
    writer.submit(1, first, {})
    source["a"][:] = -1
    got = []
    waiting = threading.Thread(target=lambda: got.append(writer.copy({**source, "b": np.ones(3)})))
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()
    slow.go.release()
    waiting.join(LIMIT_S)
    assert slow.read(1).tensors["a"][1, 2] == 5
    [second] = got
    assert second["a"] is first["a"] and second["a"][1, 2] == -1
    assert second["b"].shape == (3,) and second["b"] is not source["b"]
