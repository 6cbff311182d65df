"""Explains a run of paceline: its journals, exit codes, stacks and logs say which worker failed first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from paceline.errors import UsageError
from paceline.explain.judge import Explanation, judge
from paceline.explain.scan import Frame, Hit, Scan, groups_in
from paceline.failures.row import Row
from paceline.failures.table import find
from paceline.journal import reader
from paceline.journal.events import Event
from paceline.journal.status import StatusReader
from paceline.launch import verdict

_LOGS = ("stderr.log", "stdout.log", "stacks/crash.txt", "communication.log", "nccl.log")
_NOT_TOLD = 137  # what a worker ends with that is killed
_FRAME = re.compile(r'^  File "(?P<file>[^"]+)", line (?P<line>\d+)')


def attempt_directory(path: Path, attempt: int | None) -> Path | None:
    """Returns the folder of an attempt; None: ``path`` is no run directory.

    Args:
        path: A run directory, or the folder of one attempt.
        attempt: Which one; by default the last.

    Raises:
        UsageError: The run has no such attempt.
    """
    if attempt is None and any(path.glob("worker-*")):
        return path
    folder = path / "attempts"
    if not folder.is_dir():
        return None
    known = sorted(int(child.name) for child in folder.iterdir() if child.name.isdecimal())
    if not known:
        raise UsageError(f"No attempt of this run has begun: {path}", fix=f"cat {path}/plan.json")
    if attempt is not None and attempt not in known:
        raise UsageError(
            f"The run has no attempt {attempt}.",
            got=f"--attempt {attempt}",
            expected="one of " + ", ".join(map(str, known)),
        )
    return folder / str(known[-1] if attempt is None else attempt)


def explain_attempt(directory: Path, scan: Scan) -> Explanation:
    """Returns why an attempt failed.

    Args:
        directory: ``RUN/attempts/K``, or a folder of several ``worker-R``.
        scan: Reads the logs.
    """
    ranks = sorted(
        int(match[1]) for child in directory.iterdir() if (match := re.fullmatch(r"worker-(\d+)", child.name))
    )
    events = {rank: reader.read(directory / f"worker-{rank}" / "journal.jsonl") for rank in ranks}
    for rank in ranks:
        for name in _LOGS:
            _read(scan, directory / f"worker-{rank}" / name, str(rank))
    failures = _failures(directory, events)
    if not failures:
        return replace(judge(scan), said="", first=None, who="", by="time")
    first = verdict.first_failure(failures)
    found = judge(scan, str(first.rank))
    of = f" of {len(ranks)}" if len(ranks) > 1 else ""
    after = [f"worker {failure.rank}: {_how(failure)}" for failure in failures if failure is not first]
    said = f"Worker {first.rank}{of} failed{' first' if len(ranks) > 1 else ''}: {_how(first)}."
    if after:
        said += f" After it: {'; '.join(after)}."
    hit = None if first.error is None else _hit_of(first.error, first.rank, directory)
    others = [one for one in judge(scan).others if one.first.worker != str(first.rank)]
    best = hit if hit is not None and not (hit.row.is_general and found.first is not None) else found.first
    return replace(found, first=best, who=f"worker {first.rank}", by="time", said=said, others=[*found.others, *others])


def _read(scan: Scan, path: Path, worker: str) -> None:
    try:
        with path.open("rb") as stream:
            scan.read(stream, str(path), worker, path.stat().st_size)
    except OSError:  # it need not be there
        return


def _failures(directory: Path, events: Mapping[int, Sequence[Event]]) -> list[verdict.Failure]:
    """Returns the workers that ended badly, those too that could not say so."""
    is_over = any(event.kind in {"end", "error", "signal"} for journal in events.values() for event in journal)
    failures = []
    for rank, journal in events.items():
        last = max((event.t for event in journal), default=0.0)
        end = next((event for event in journal if event.kind == "end"), None)
        code = _code_of(end)
        was_told = any(event.kind == "signal" for event in journal)
        if end is None and (is_over or len(events) == 1) and not was_told and not _has_error(journal):
            page = StatusReader(directory / f"worker-{rank}" / "status")
            seen = max(last, page.read().updated)
            page.close()
            failures.append(verdict.Failure(rank, _NOT_TOLD, seen))
        elif _has_error(journal) or (code and not was_told):
            failures.append(verdict.make_failure(rank, code or 1, last, journal))
    return failures


def _code_of(end: Event | None) -> int:
    code = end.fields.get("exit_code") if end is not None else None
    return code if isinstance(code, int) else 0


def _has_error(journal: Sequence[Event]) -> bool:
    return any(event.kind == "error" for event in journal)


def _how(failure: verdict.Failure) -> str:
    if failure.error is not None:
        text = str(failure.error.fields.get("text", "")).split("\n")[0][:300]
        return f"{failure.error.fields.get('type')}: {text}" if text else str(failure.error.fields.get("type"))
    if failure.code == _NOT_TOLD:
        return "it ended without a word, as a process does that is killed"
    return verdict.meaning_of(failure.code)


def _hit_of(error: Event, rank: int, directory: Path) -> Hit | None:
    """Returns what the table knows of an error that a worker wrote down, with the script's own line."""
    lines = str(error.fields.get("traceback", "")).rstrip("\n").split("\n")
    known = [(row, line) for line in lines if not line.startswith(" " * 4) and (row := find(line)) is not None]
    if not known:
        return None
    row, line = _most_particular(known)
    return Hit(
        row=row,
        text=line.strip()[:500],
        worker=str(rank),
        file=str(directory / f"worker-{rank}" / "journal.jsonl"),
        order=(0, 0),
        number=0,
        moment=None,
        script=_frame_of(lines),
        groups=groups_in(row, line),
    )


def _most_particular(known: Sequence[tuple[Row, str]]) -> tuple[Row, str]:
    return next((pair for pair in known if not pair[0].is_general), known[-1])


def _frame_of(lines: Sequence[str]) -> Frame | None:
    """Returns the last frame that is in no library."""
    frame = None
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        match = _FRAME.match(line)
        if match and "-packages/" not in match["file"] and not match["file"].startswith("<"):
            source = after.strip()[:200] if after.startswith("    ") else ""
            frame = Frame(match["file"], int(match["line"]), source)
    return frame
