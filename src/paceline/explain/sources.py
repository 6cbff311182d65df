"""Opens what a person names: a log, compressed or not, standard input, or a run directory."""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
import zlib
from pathlib import Path
from typing import BinaryIO, cast

from paceline.errors import UsageError
from paceline.explain.judge import Explanation, judge
from paceline.explain.rundir import attempt_directory, explain_attempt
from paceline.explain.scan import Scan

_GZIP = b"\x1f\x8b"


def explain(names: tuple[str, ...], *, attempt: int | None, limit_s: float) -> Explanation:
    """Returns why a job failed.

    Args:
        names: Logs (``-`` is standard input), or one run directory.
        attempt: Of a run directory, which attempt; by default the last.
        limit_s: How long logs are read.

    Raises:
        UsageError: Something is not there, cannot be read, or is neither.
    """
    scan = Scan(limit_s)
    folders = [name for name in names if name != "-" and Path(name).is_dir()]
    if folders and len(names) > 1:
        raise UsageError(
            "A run directory is explained by itself.", got=" ".join(names), fix=f"paceline explain {folders[0]}"
        )
    if folders:
        directory = attempt_directory(Path(folders[0]), attempt)
        if directory is None:
            raise UsageError(
                "The folder is no run directory.",
                got=folders[0],
                expected="a folder that paceline run has made (it holds plan.json and attempts), or a log",
                fix=f"paceline explain {folders[0]}/*.log",
            )
        return explain_attempt(directory, scan)
    if attempt is not None:
        raise UsageError("A log has no attempts.", got=f"--attempt {attempt} {names[0]}", expected="a run directory")
    for name in names:
        _read(scan, name, worker=Path(name).name if len(names) > 1 and name != "-" else "")
    return judge(scan)


def _read(scan: Scan, name: str, worker: str) -> None:
    try:
        with _open(name) as stream:
            mode = os.fstat(stream.fileno())
            size = mode.st_size if stat.S_ISREG(mode.st_mode) and name != "-" else None
            if stream.peek(2)[:2] == _GZIP:
                _read_compressed(scan, stream, name, worker)
            else:
                scan.read(cast("BinaryIO", stream), "standard input" if name == "-" else name, worker, size)
    except OSError as error:
        raise UsageError(
            "The log cannot be read.", got=f"{name}: {error.strerror or error}", expected="a file that you may read"
        ) from error


def _open(name: str) -> io.BufferedReader:
    if name == "-":
        return io.BufferedReader(io.FileIO(os.dup(sys.stdin.fileno())))
    return Path(name).open("rb")


def _read_compressed(scan: Scan, stream: io.BufferedReader, name: str, worker: str) -> None:
    with gzip.GzipFile(fileobj=stream) as unpacked:
        try:
            scan.read(cast("BinaryIO", unpacked), name, worker)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            scan.readings[-1].gap = f"the archive is damaged after line {scan.readings[-1].num_lines}: {error}"
