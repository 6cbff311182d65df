"""Reads journals and merges those of several workers by time."""

from __future__ import annotations

import heapq
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from paceline.journal.events import Event


def read(path: str | os.PathLike[str]) -> list[Event]:
    """Returns the events of one journal in the order written.

    A missing file is empty. Lines that are torn (a worker was killed while writing, a disk was full) or
    are no event are skipped; kinds that this version does not know are kept.
    """
    try:
        data = Path(path).read_bytes()
    except OSError:
        return []
    return [event for line in data.split(b"\n") if (event := parse(line)) is not None]


def parse(line: bytes) -> Event | None:
    """Returns the event of one line, or ``None`` where the line holds none.

    >>> parse(b'{"v": 1, "t": 2.5, "rank": 0, "kind": "end", "exit_code": 3}')
    Event(t=2.5, rank=0, kind='end', fields={'exit_code': 3})
    >>> parse(b'{"v": 1, "t": 2.5, "ra') is None
    True
    """
    try:
        record = json.loads(line)
        t, rank, kind = float(record["t"]), int(record["rank"]), str(record["kind"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    fields = {key: value for key, value in record.items() if key not in ("v", "t", "rank", "kind")}
    return Event(t=t, rank=rank, kind=kind, fields=fields)


def merge(journals: Iterable[Iterable[Event]]) -> Iterator[Event]:
    """Yields the events of several workers by time; ties keep the order of ``journals``."""
    # A clock may step back within one journal: sort each first, stably.
    return heapq.merge(*(sorted(events, key=_time) for events in journals), key=_time)


def read_attempt(directory: str | os.PathLike[str]) -> list[Event]:
    """Returns all events of ``RUN/attempts/K``, merged by time."""
    paths = sorted(Path(directory).glob("worker-*/journal.jsonl"), key=_rank_of)
    return list(merge(read(path) for path in paths))


def _time(event: Event) -> float:
    return event.t


def _rank_of(path: Path) -> tuple[int, str]:
    _, _, rank = path.parent.name.partition("-")
    return (int(rank) if rank.isdecimal() else -1, rank)


class Tail:
    """Reads a journal while it is written: each ``poll`` returns what is new.

    Args:
        path: The journal; it may not exist yet.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._offset = 0

    def poll(self) -> list[Event]:
        """Returns the events of the lines completed since the last call."""
        try:
            if os.stat(self._path).st_size <= self._offset:
                return []
            with open(self._path, "rb") as file:
                file.seek(self._offset)
                data = file.read()
        except OSError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return [event for line in whole.split(b"\n") if (event := parse(line)) is not None]
