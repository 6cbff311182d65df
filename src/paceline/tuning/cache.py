"""The file in which ``paceline tune`` keeps what it measured; ``docs/contracts.md`` has the form."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from paceline.errors import ConfigurationRefused, PacelineError
from paceline.files import write_whole
from paceline.tuning.choice import Choice, Measured
from paceline.tuning.ring import RingTuning

SCHEMA_VERSION = 1

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_NAME = re.compile(r"[0-9a-f]{16}-([1-9][0-9]{0,8})\.json")


@dataclass(frozen=True, kw_only=True)
class Site:
    """Where and with what something was measured: elsewhere it need not hold.

    Attributes:
        hosts: Names of the machines, in the order of ranks.
        tensorflow: Version of TensorFlow, or an empty text.
        paceline: Version of paceline.
        cpu_model: What the processor calls itself.
    """

    hosts: tuple[str, ...]
    tensorflow: str
    paceline: str
    cpu_model: str

    def file_name(self, num_workers: int | str) -> str:
        """Returns the name of the file for a job of so many workers."""
        text = json.dumps({**asdict(self), "hosts": list(self.hosts)}, sort_keys=True)
        return f"{hashlib.sha256(text.encode(errors='backslashreplace')).hexdigest()[:16]}-{num_workers}.json"


@dataclass(frozen=True, kw_only=True)
class Record:
    """What was measured and chosen, and where.

    Attributes:
        results: Each contestant with its times.
        choice: The best tuning of RING; ``None`` where RING was not measured.
        measured: When, in ISO form.
        is_quick: Only a few sizes were measured, once.
    """

    site: Site
    num_workers: int
    results: Sequence[Measured]
    choice: Choice | None
    measured: str
    is_quick: bool

    def to_json(self) -> dict[str, Any]:
        """Returns the record as plain values, for the file and for ``--json``."""
        return {
            "schema": SCHEMA_VERSION,
            "key": _key(self.site, self.num_workers),
            "measured": self.measured,
            "quick": self.is_quick,
            "results": [
                {
                    "transport": result.contestant.transport,
                    "tuning": None if result.contestant.tuning is None else asdict(result.contestant.tuning),
                    "times_s": [[size, time_s] for size, time_s in result.times_s.items()],
                }
                for result in self.results
            ],
            "choice": None if self.choice is None else {**asdict(self.choice), "reason": self.choice.reason},
        }


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a cache file says, or why it says nothing.

    Attributes:
        path: The file.
        choice: What was chosen; ``None``: the file is of no use.
        date: Day of the measurement, as in ``2026-11-30``.
        is_quick: Only a few sizes were measured, once.
        fault: Why it is of no use.
    """

    path: str
    choice: Choice | None = None
    date: str = ""
    is_quick: bool = False
    fault: str = ""


def folder(environ: Mapping[str, str]) -> Path | None:
    """Returns the folder of all cache files, which need not be there; ``None`` where a person has none.

    Source: XDG Base Directory Specification 0.8: paths that are not absolute are ignored.
    """
    for variable, below in (("XDG_CACHE_HOME", ""), ("HOME", ".cache")):
        base = Path(environ.get(variable, ""))
        if base.is_absolute():
            return base / below / "paceline" / "tune"
    return None


def make_folder(environ: Mapping[str, str]) -> Path:
    """Returns the folder of all cache files, made where it is not there.

    Raises:
        ConfigurationRefused: There is no place for it, or it cannot be written.
    """
    path = folder(environ)
    if path is None:
        raise _no_place("neither XDG_CACHE_HOME nor HOME is an absolute path")
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise _no_place(f"{path}: {error.strerror}") from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise _no_place(f"{path}: not writable")
    return path


def store(path: Path, record: Record) -> None:
    """Writes a record so that a reader sees all of it or none.

    Raises:
        ConfigurationRefused: It cannot be written.
    """
    try:
        write_whole(path, record.to_json())
    except OSError as error:
        raise _no_place(f"{path}: {error.strerror}") from error


def find(environ: Mapping[str, str], site: Site) -> dict[int, Found]:
    """Returns what is kept for this site: number of workers -> what its file says."""
    path = folder(environ)
    if path is None:
        return {}
    found = {}
    try:
        for file in sorted(path.glob(site.file_name("*"))):
            name = _NAME.fullmatch(file.name)
            if name and file.is_file():
                found[int(name[1])] = read(file, site, int(name[1]))
    except OSError:  # a folder that may not be read holds nothing for us
        pass
    return found


def read(path: Path, site: Site, num_workers: int) -> Found:
    """Returns what a file says of ``num_workers`` workers at ``site``, or why it is of no use; raises nothing."""
    try:
        content = json.loads(path.read_bytes())
        if content["schema"] != SCHEMA_VERSION:
            return _of_no_use(path, f"it has schema {content['schema']!r}, this paceline reads {SCHEMA_VERSION}")
        key = _key(site, num_workers)
        other = [name for name in key if content["key"].get(name) != key[name]]
        if other:
            return _of_no_use(path, f"it was measured with another {' and '.join(other)}")
        return Found(
            path=str(path),
            choice=Choice(
                tuning=RingTuning(**content["choice"]["tuning"]), less_time=_share(content["choice"]["less_time"])
            ),
            date=_DATE.match(content["measured"])[0],  # type: ignore[index]  # None: damaged
            is_quick=content["quick"] is True,
        )
    except OSError as error:
        return _of_no_use(path, f"it cannot be read: {error.strerror}")
    except PacelineError as error:
        return _of_no_use(path, f"it is damaged: {error.got}")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        return _of_no_use(path, f"it is damaged: {type(error).__name__}: {error}")


def _key(site: Site, num_workers: int) -> dict[str, Any]:
    return {**asdict(site), "hosts": list(site.hosts), "num_workers": num_workers}


def _share(value: Any) -> float | None:
    """Returns a share of time that is saved.

    Raises:
        ValueError: It is none.
    """
    if value is None:
        return None
    if not 0 <= float(value) <= 1:
        msg = f"less_time is {value}"
        raise ValueError(msg)
    return float(value)


def _of_no_use(path: Path, fault: str) -> Found:
    return Found(path=str(path), fault=fault)


def _no_place(got: str) -> ConfigurationRefused:
    return ConfigurationRefused(
        "What is measured cannot be kept.",
        got=got,
        expected="a folder for caches in which you may write",
        fix="XDG_CACHE_HOME=/some/other/place paceline tune",
    )
