"""Events reach the file whole, and a full disk ends nothing."""

import json
import os
import threading

import pytest

from paceline.journal.reader import read
from paceline.journal.writer import JournalWriter


class Scalar:
    """Looks like an array's scalar."""

    def tolist(self):
        return 0.25


def test_event_has_the_form_of_the_contract(tmp_path):
    JournalWriter(tmp_path / "journal.jsonl", rank=3).event("epoch", epoch=1, logs={"loss": Scalar()}, path=tmp_path)
    (line,) = (tmp_path / "journal.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert record.pop("t") > 0
    assert record == {
        "v": 1,
        "rank": 3,
        "kind": "epoch",
        "epoch": 1,
        "logs": {"loss": 0.25},
        "path": str(tmp_path),
    }


@pytest.mark.parametrize("text", ["new\nline", "ü 训练", "\udcff lone surrogate", "a\0b"])
def test_any_text_is_one_line(tmp_path, text):
    writer = JournalWriter(tmp_path / "journal.jsonl", rank=0)
    writer.event("note", text=text)
    writer.event("end")
    assert [event.kind for event in read(tmp_path / "journal.jsonl")] == ["note", "end"]


def test_events_that_json_cannot_hold_are_recorded_all_the_same(tmp_path):
    loop = []
    loop.append(loop)
    writer = JournalWriter(tmp_path / "journal.jsonl", rank=0)
    writer.event("note", text=loop)
    writer.event("note", text={1: {2, 3}, (4, 5): object()})
    assert len(read(tmp_path / "journal.jsonl")) == 2


def test_threads_do_not_mix_lines(tmp_path):
    writer = JournalWriter(tmp_path / "journal.jsonl", rank=0)
    threads = [
        threading.Thread(target=lambda: [writer.event("note", text="x" * 3000) for _ in range(100)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read(tmp_path / "journal.jsonl")) == 400


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_disk_warns_once(capsys):
    writer = JournalWriter("/dev/full", rank=0)
    for _ in range(3):
        writer.event("note", text="x")
    assert capsys.readouterr().err.count("No space left on device") == 1


def test_lost_events_are_counted(tmp_path, monkeypatch):
    writer = JournalWriter(tmp_path / "journal.jsonl", rank=0)
    real = os.write

    def half(descriptor, data):
        return real(descriptor, data[: len(data) // 2])

    monkeypatch.setattr(os, "write", half)
    writer.event("note", text="torn")
    monkeypatch.setattr(os, "write", real)
    writer.event("end")
    (event,) = read(tmp_path / "journal.jsonl")
    assert (event.kind, event.fields) == ("end", {"lost": 1})


def test_a_folder_that_is_missing_ends_nothing(tmp_path, capsys):
    writer = JournalWriter(tmp_path / "missing" / "journal.jsonl", rank=0)
    writer.event("end")
    assert "events are not recorded" in capsys.readouterr().err
