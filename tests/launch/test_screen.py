"""The view below the chief's output, seen by a terminal of ten lines."""

import os
import pty
import re
import select

import pytest

from paceline.launch.screen import Screen


class Terminal:
    """Knows just the controls that we and a progress bar use."""

    def __init__(self, rows=10):
        self.lines, self.row, self.column, self.rows = [""], 0, 0, rows

    def feed(self, text):
        for token in re.findall(r"\x1b\[\d*[A-Za-z]|[\r\n\b]|[^\x1b\r\n\b]+", text):
            getattr(self, {"\r": "home", "\n": "down", "\b": "left"}.get(token, "other"))(token)

    def home(self, _):
        self.column = 0

    def left(self, _):
        self.column -= 1

    def down(self, _):
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append("")

    def other(self, token):
        if not token.startswith("\x1b"):
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[: self.column] + token + line[self.column + len(token) :]
            self.column += len(token)
            return
        number, letter = int(token[2:-1] or 1), token[-1]
        if letter == "A":
            self.row -= number
        elif letter == "B":
            self.row += number
        elif letter == "G":
            self.column = number - 1
        elif letter == "J":
            del self.lines[self.row + 1 :]
        if letter in "JK":
            self.lines[self.row] = self.lines[self.row][: self.column]


@pytest.fixture
def shown():
    """A screen on a real terminal, and a function that returns what that terminal shows."""
    ours, theirs = pty.openpty()
    terminal = Terminal()

    def look():
        while select.select([ours], [], [], 0.05)[0]:
            terminal.feed(os.read(ours, 65536).decode())
        return [line.rstrip() for line in terminal.lines]

    yield Screen(theirs, theirs, with_view=True), look
    os.close(ours)
    os.close(theirs)


def test_view_stays_below_and_the_bar_keeps_its_line(shown):
    screen, look = shown
    screen.write("stdout", b"Epoch 1\n 1/3 [=  ]")
    screen.show(("worker 0 STEP", "worker 1 STEP"))
    assert look() == ["Epoch 1", " 1/3 [=  ]", "worker 0 STEP", "worker 1 STEP"]
    screen.write("stdout", b"\r 2/3 [== ]")
    screen.show(("worker 0 REDUCE", "worker 1 STEP"))
    assert look() == ["Epoch 1", " 2/3 [== ]", "worker 0 REDUCE", "worker 1 STEP"]
    screen.write("stdout", b"\b\b\b\b===]\nEpoch 2\n")
    assert look() == ["Epoch 1", " 2/3 [===]", "Epoch 2", "", "worker 0 REDUCE", "worker 1 STEP"]


def test_our_words_start_a_line_and_the_view_goes(shown):
    screen, look = shown
    screen.write("stdout", b"\x1b[1mhalf a line\x1b[0m")
    screen.show(("view",))
    screen.say("paceline: said")
    assert look() == ["half a line", "paceline: said", "", "view"]
    screen.show(())
    assert look()[:2] == ["half a line", "paceline: said"]
    assert not any(look()[2:])


def test_no_view_where_there_is_no_terminal(tmp_path):
    with (tmp_path / "out").open("wb") as file:
        screen = Screen(file.fileno(), file.fileno(), with_view=True)
        screen.show(("view",))
        screen.write("stdout", b"\r 1/3")
        screen.say("said")
    assert (tmp_path / "out").read_bytes() == b"\r 1/3said\n"


def test_a_reader_that_is_gone_ends_nothing():
    reader, writer = os.pipe()
    os.close(reader)
    screen = Screen(writer, writer)
    screen.write("stdout", b"x")
    screen.write("stdout", b"x")
    os.close(writer)


def test_a_full_disk_loses_the_output_aloud_and_ends_nothing():
    reader, writer = os.pipe()
    with open("/dev/full", "wb", buffering=0) as full:
        screen = Screen(full.fileno(), writer)
        screen.write("stdout", b"1/3\n")
        screen.write("stdout", b"2/3\n")
        screen.write("stderr", b"warning\n")
    os.close(writer)
    with os.fdopen(reader, "rb") as said:
        lost = b"paceline: stdout is no longer written: No space left on device; the workers' logs keep it\n"
        assert said.read() == lost + b"warning\n"
