"""Journals of several workers, some of them torn, become one story."""

from paceline.journal.reader import Tail, merge, read, read_attempt
from paceline.journal.writer import JournalWriter


def line(t, rank, kind="note"):
    return f'{{"v": 1, "t": {t}, "rank": {rank}, "kind": "{kind}"}}\n'


def test_torn_and_foreign_lines_are_skipped_unknown_kinds_kept(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_bytes(
        line(1, 0).encode() + b'\n[1]\nnull\n{"t": "x"}\n\xff\xfe\n' + line(2, 0, "of_2035").encode() + b'{"v": 1, "t'
    )
    assert [event.kind for event in read(path)] == ["note", "of_2035"]


def test_a_missing_journal_is_empty(tmp_path):
    assert read(tmp_path / "none") == []
    assert read_attempt(tmp_path) == []
    assert Tail(tmp_path / "none").poll() == []


def test_workers_are_merged_by_time(tmp_path):
    for rank, times in ((0, (1, 5, 3)), (2, (4,)), (10, (2,))):
        folder = tmp_path / f"worker-{rank}"
        folder.mkdir()
        (folder / "journal.jsonl").write_text("".join(line(t, rank) for t in times))
    assert [(event.t, event.rank) for event in read_attempt(tmp_path)] == [
        (1, 0),
        (2, 10),
        (3, 0),
        (4, 2),
        (5, 0),
    ]


def test_ties_keep_the_order_of_ranks(tmp_path):
    journals = []
    for rank in (0, 1):
        path = tmp_path / str(rank)
        path.write_text(line(7, rank))
        journals.append(read(path))
    assert [event.rank for event in merge(journals)] == [0, 1]


def test_tail_waits_for_whole_lines(tmp_path):
    path = tmp_path / "journal.jsonl"
    tail = Tail(path)
    JournalWriter(path, rank=0).event("start")
    assert [event.kind for event in tail.poll()] == ["start"]
    text = line(2, 0, "ready")
    with path.open("a") as file:
        file.write(text[:10])
        file.flush()
        assert tail.poll() == []
        file.write(text[10:])
    assert [event.kind for event in tail.poll()] == ["ready"]
    assert tail.poll() == []
