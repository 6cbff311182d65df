"""Reads logs of any size, and keeps of each known line where it stood first and last."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from paceline.explain.lines import Line, Moment, clean
from paceline.failures.row import Kind, Row
from paceline.failures.table import LONGEST_LINE, find

_BLOCK_BYTES = 1 << 20
_LONGEST_BYTES = 1 << 16  # what is longer is taken to be several lines
_TAIL_BYTES = 8 << 20
_CACHED = 20_000
_MOST_WORKERS = 4096
_SHOWN_LINES = 12
_LOOK_BACK = 40
_DIGITS = b"0123456789"

_TRACEBACK = re.compile(r"^\s*(?:Traceback \(most recent call last\):|Detected at node .*most recent call last)")
_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<name>.*))?')
_PROGRESS = re.compile(r"^\s*(?:Epoch \d+/\d+|\d+/\d+ .*(?:step|loss|ETA)|(?:global_)?step[ :=]+\d+)")
_LIBRARIES = re.compile(r"(?:site|dist)-packages/|/lib/python\d|^<|/paceline/(?:session|training|worker|strategies)/")


@dataclass(frozen=True)
class Frame:
    """The script's own line in a traceback."""

    file: str
    line: int
    source: str = ""

    def __str__(self) -> str:
        """Returns it for a person."""
        return f"{self.file}, line {self.line}" + (f": {self.source}" if self.source else "")


@dataclass(frozen=True)
class Hit:
    """A line that the table knows.

    Attributes:
        row: What is known of it.
        file: Which log it stands in.
        order: Sorts hits by file and place.
        number: Its number in the file, from 1; 0: not known, because the middle was not read.
        script: The script's own line in the traceback that it ends, where there is one.
        groups: What the row's pattern found in it; ``rank2`` counts as ``rank``, where that is empty.
    """

    row: Row
    text: str
    worker: str
    file: str
    order: tuple[int, int]
    number: int
    moment: Moment | None
    script: Frame | None = None
    groups: Mapping[str, str | None] = field(default_factory=dict)


@dataclass
class Seen:
    """How often one worker printed lines of one row."""

    first: Hit
    last: Hit
    count: int = 1


def groups_in(row: Row, text: str) -> dict[str, str | None]:
    """Returns what a row's pattern finds in a line, each cut off where it is long."""
    match = row.search(text)
    groups = {} if match is None else {name: found and found[:500] for name, found in match.groupdict().items()}
    for name, found in list(groups.items()):
        if name[-1].isdigit() and found:
            groups[name[:-1]] = found
    return groups


@dataclass
class Reading:
    """What was read of one log.

    Attributes:
        gap: Why a part of it was not read; empty: all was.
        last_lines: The last lines of it.
    """

    file: str
    num_bytes: int = 0
    num_lines: int = 0
    gap: str = ""
    last_lines: deque[str] = field(default_factory=lambda: deque(maxlen=_SHOWN_LINES))


@dataclass
class _Trace:
    frame: Frame | None = None
    wants_source: bool = False


class Scan:
    """Collects what is known of the lines of one or several logs; its memory does not grow with them.

    Args:
        limit_s: After so many seconds only the end of what is left is read.
        clock: What tells the time.
    """

    def __init__(self, limit_s: float = 120.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.seen: dict[tuple[str, str], Seen] = {}
        self.progress: dict[str, tuple[int, int]] = {}
        self.readings: list[Reading] = []
        self._clock = clock
        self._until = clock() + limit_s
        self._limit_s = limit_s
        self._cache: dict[bytes, object] = {}
        self._traces: dict[str, _Trace] = {}
        self._moments: dict[str, Moment] = {}
        self._recent: deque[bytes] = deque(maxlen=_LOOK_BACK)
        self._is_numbered = True

    def read(self, stream: BinaryIO, file: str, worker: str = "", size: int | None = None) -> Reading:
        """Reads a log to its end, or to the limit of time.

        Args:
            stream: What to read.
            file: Its name, for a person.
            worker: Who printed it, where its lines do not say.
            size: Its size in bytes where one may jump in it.

        Raises:
            OSError: It cannot be read, or is a damaged archive.
        """
        reading = Reading(file)
        self.readings.append(reading)
        self._traces.clear()
        self._is_numbered = True
        rest, is_late = b"", False
        while block := stream.read(_BLOCK_BYTES):
            reading.num_bytes += len(block)
            rest = self._take(rest + block, reading, worker)
            if not is_late and self._clock() > self._until:
                is_late = True
                reading.gap = f"after {self._limit_s:g} s, at line {reading.num_lines}, reading was given up"
                if size is None or stream.tell() >= size:
                    break
                reading.gap += f"; only its last {_TAIL_BYTES >> 20} MB were read after that"
                stream.seek(max(stream.tell(), size - _TAIL_BYTES))
                self._is_numbered, rest = False, b""
                size = None
        if rest:
            self._lines([rest], reading, worker)
        return reading

    def _take(self, data: bytes, reading: Reading, worker: str) -> bytes:
        """Looks at all whole lines; returns what is left of the last."""
        if not data.strip(b"\0"):  # a hole in a file
            return b""
        *lines, rest = data.split(b"\n")
        self._lines(lines, reading, worker)
        if len(rest) > _LONGEST_BYTES:
            pieces = [rest[at : at + _LONGEST_BYTES] for at in range(0, len(rest), _LONGEST_BYTES)]
            self._lines(pieces[:-1], reading, worker, counts=False)
            rest = pieces[-1]
        return rest

    def _lines(self, lines: list[bytes], reading: Reading, worker: str, *, counts: bool = True) -> None:
        cache = self._cache
        for raw in lines:
            reading.num_lines += counts
            self._recent.append(raw)
            for piece in raw.split(b"\r") if b"\r" in raw else (raw,):
                short = piece[:LONGEST_LINE]
                # Most lines of a log differ in numbers only.
                key = short.translate(None, _DIGITS)
                if key not in cache:
                    self._remember(key, clean(short))
                known = cache[key]
                if known is not None or self._traces:
                    self._note(known, short, reading, worker)
        shown = (clean(raw.split(b"\r")[-1][:LONGEST_LINE]).text for raw in lines[-_SHOWN_LINES:])
        reading.last_lines.extend(text for text in shown if text.strip())

    def _remember(self, key: bytes, line: Line) -> None:
        if len(self._cache) >= _CACHED:
            self._cache.clear()
        known: object = None
        if _TRACEBACK.match(line.text):
            known = _TRACEBACK
        elif _FRAME.match(line.text):
            known = _FRAME
        elif (row := find(line.text)) is not None:
            known = row
        elif _PROGRESS.match(line.text):
            known = _PROGRESS
        self._cache[key] = known

    def _note(self, known: object, raw: bytes, reading: Reading, default: str) -> None:
        line = clean(raw)
        worker = line.worker or default
        trace = self._traces.get(worker)
        if known is _TRACEBACK:
            if len(self._traces) < _MOST_WORKERS:
                self._traces[worker] = _Trace()
        elif known is _FRAME:
            if trace is not None and (match := _FRAME.match(line.text)):
                trace.wants_source = not _LIBRARIES.search(match["file"])
                if trace.wants_source:
                    trace.frame = Frame(match["file"], int(match["line"]))
        elif known is _PROGRESS:
            self.progress[worker if len(self.progress) < _MOST_WORKERS else ""] = self._order(reading)
        elif isinstance(known, Row):
            self._hit(known, line, worker, reading)
        elif trace is not None and trace.wants_source and trace.frame is not None:
            trace.wants_source = False
            if line.text.startswith(" "):
                trace.frame = Frame(trace.frame.file, trace.frame.line, line.text.strip()[:200])

    def _hit(self, row: Row, line: Line, worker: str, reading: Reading) -> None:
        if row.search(line.text) is None:  # of the same form, with other numbers
            other = find(line.text)
            if other is None:
                return
            row = other
        trace = self._traces.get(worker)
        frame = trace.frame if trace is not None and row.kind is Kind.CAUSE else None
        if trace is not None and not line.text.startswith((" ", "\t")) and not row.is_general:
            del self._traces[worker]
        worker = worker if len(self.seen) < _MOST_WORKERS else ""
        hit = Hit(
            row=row,
            text=line.text.strip()[:500],
            worker=worker,
            file=reading.file,
            order=self._order(reading),
            number=reading.num_lines if self._is_numbered else 0,
            moment=line.moment or self._moment_before(worker, line.worker),
            script=frame,
            groups=groups_in(row, line.text),
        )
        known = self.seen.get((row.name, worker))
        if known is None:
            self.seen[row.name, worker] = Seen(hit, hit)
        else:
            known.last, known.count = hit, known.count + 1

    def _order(self, reading: Reading) -> tuple[int, int]:
        return (len(self.readings) - 1, reading.num_lines)

    def _moment_before(self, worker: str, prefix: str) -> Moment | None:
        """Returns the time of the last line of this worker that had one, among the lines just before."""
        for raw in reversed(self._recent):
            line = clean(raw[:200])
            if line.moment is not None and (line.worker == prefix or not worker):
                return line.moment
        return None
