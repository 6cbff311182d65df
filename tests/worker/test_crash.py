"""What a person sees of an error: the frames of the script, none of ours."""

import signal
import sys

import pytest

from paceline.journal.reader import read
from paceline.journal.writer import JournalWriter
from paceline.session.script import run_script
from paceline.worker.crash import format_error, report


@pytest.fixture
def shown(monkeypatch):
    """Runs a script as the session does; returns what is shown of its error."""
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])

    def show(kind, target):
        try:
            run_script({"kind": kind, "target": str(target), "argv": []})
        except BaseException as error:  # noqa: BLE001  as the worker does
            ours = error.__traceback__.tb_next  # the first frame is this test's, not of the package
            return format_error(error.with_traceback(ours))
        return ""

    return show


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"def f(:\n", "SyntaxError"),
        (b"x = '\xe4'\n", "utf-8"),  # saved as cp1252, and does not say so
        (b"\x7fELF\x00\x01\x02\x00", "SyntaxError"),
        (b"if x:\npass\n", "IndentationError"),
    ],
)
def test_what_is_no_python_is_shown_as_python_shows_it(shown, tmp_path, content, words):
    (tmp_path / "bad.py").write_bytes(content)
    text = shown("path", tmp_path / "bad.py")
    assert words in text and "bad.py" in text
    assert "Traceback" not in text and "session" not in text


def test_a_module_that_is_not_there_shows_no_frames_of_ours(shown):
    assert shown("module", "json.nothing") == "ImportError: No module named json.nothing\n"


def test_the_frames_of_the_script_stay(shown, tmp_path):
    (tmp_path / "fails.py").write_text("def f():\n    compile('(', 'inner', 'exec')\n\nf()\n")
    text = shown("path", tmp_path / "fails.py")
    assert text.startswith("Traceback") and text.count("fails.py") == 2 and "session" not in text


def test_ctrl_c_shows_the_line_that_it_came_at(shown, tmp_path):
    (tmp_path / "waits.py").write_text(
        "import os, signal\n"
        "from paceline.worker.signals import SignalWatch\n"
        "watch = SignalWatch()\n"
        "signal.signal(signal.SIGINT, watch._hear)\n"
        "try:\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    while True: pass\n"
        "finally:\n"
        "    watch._reader.close(), watch._writer.close()\n"
    )
    before = signal.getsignal(signal.SIGINT)
    try:
        text = shown("path", tmp_path / "waits.py")
    finally:
        signal.signal(signal.SIGINT, before)
    assert text.endswith("KeyboardInterrupt\n") and "waits.py" in text and "signals.py" not in text


def test_an_error_of_ours_keeps_its_frames():
    try:
        run_script({"kind": "path"})
    except KeyError as error:
        text = format_error(error.with_traceback(error.__traceback__.tb_next))
    assert "session/script.py" in text


@pytest.mark.parametrize("way", ["none", "closed"])
def test_an_error_is_recorded_also_where_nobody_can_be_shown_it(tmp_path, monkeypatch, way):
    stream = (tmp_path / "closed").open("w")
    stream.close()
    monkeypatch.setattr(sys, "stderr", None if way == "none" else stream)
    journal = JournalWriter(tmp_path / "journal.jsonl", 0)
    assert report(ValueError("why"), journal) == 1
    (event,) = read(tmp_path / "journal.jsonl")
    assert (event.kind, event.fields["text"]) == ("error", "why")
