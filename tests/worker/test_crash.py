"""What a person sees of an error: the frames of the script, none of ours."""

import signal
import sys
import types

import pytest

from paceline.errors import add_note
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


MIDDLE = """
import sys, types
from pathlib import Path
from paceline.checkpoint.chief import ChiefWrites

def inner():
    raise KeyError("first")

def middle():
    try:
        ChiefWrites(0, 1, None, Path()).write("x", inner)
    except KeyError as error:
        raise ValueError("second") {how}

ChiefWrites(0, 1, None, Path()).write("x", middle)
"""


@pytest.mark.parametrize("how", ["from error", ""])
def test_frames_of_ours_in_the_middle_are_left_out_also_behind_an_error(shown, tmp_path, how):
    (tmp_path / "fails.py").write_text(MIDDLE.format(how=how))
    text = shown("path", tmp_path / "fails.py")
    assert text.count("fails.py") == 4 and "checkpoint" not in text
    assert "KeyError: 'first'" in text and text.endswith("ValueError: second\n")


def test_they_stay_where_the_script_wants_those_of_keras(shown, tmp_path, monkeypatch):
    config = types.SimpleNamespace(is_traceback_filtering_enabled=lambda: False)
    monkeypatch.setitem(sys.modules, "keras", types.SimpleNamespace(config=config))
    (tmp_path / "fails.py").write_text(MIDDLE.format(how=""))
    assert shown("path", tmp_path / "fails.py").count("checkpoint/chief.py") == 2


FILTERED = """
from pathlib import Path
from paceline.checkpoint.chief import ChiefWrites

exec(compile('''
def call(function):
    try:
        function()
    except Exception as error:
        frames = error.__traceback__
        last = frames
        while "paceline" not in last.tb_frame.f_code.co_filename:
            last = last.tb_next
        last.tb_next = None  # as Keras takes out what is its own
        raise error.with_traceback(frames) from None
''', "/site-packages/keras/src/utils/traceback_utils.py", "exec"))
"""


@pytest.mark.parametrize(
    ("what", "is_ours"),
    [
        ("lambda: ChiefWrites(0, 1, None, Path()).write('x', lambda: 1 / 0)", False),
        ("lambda: ChiefWrites(0, 1, None, Path())._wait_for_chief('x', 1)", True),
    ],
)
def test_where_keras_took_its_frames_out_ours_show_only_faults_of_ours(shown, tmp_path, what, is_ours):
    (tmp_path / "fails.py").write_text(f"{FILTERED}\ncall({what})\n")
    text = shown("path", tmp_path / "fails.py")
    assert ("checkpoint/chief.py" in text) == is_ours, text
    assert ("AttributeError" if is_ours else "ZeroDivisionError") in text


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


def test_notes_are_shown_by_every_python():
    error = ValueError("wrong")
    add_note(error, "paceline: because\n  fix:      this")
    assert format_error(error) == "ValueError: wrong\npaceline: because\n  fix:      this\n"
