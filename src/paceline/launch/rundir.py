"""Every file name of a run, in one place, and how its files are written."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paceline.errors import ConfigurationRefused
from paceline.files import write_whole


class RunDirectory:
    """The folder of one run; ``docs/contracts.md`` draws it.

    Args:
        path: An absolute path.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def plan(self) -> Path:
        """What was asked and decided, before anything starts."""
        return self.path / "plan.json"

    @property
    def decisions(self) -> Path:
        """Each decision with its reason."""
        return self.path / "decisions.json"

    def attempt(self, attempt: int) -> Path:
        """Folder of one attempt."""
        return self.path / "attempts" / str(attempt)

    def job(self, attempt: int) -> Path:
        """job.json of one attempt."""
        return self.attempt(attempt) / "job.json"

    def worker(self, attempt: int, rank: int) -> Path:
        """Folder of one worker."""
        return self.attempt(attempt) / f"worker-{rank}"


def create(asked: str | None, script_stem: str, cwd: Path) -> RunDirectory:
    """Creates the folder of a new run, open to its owner only.

    Args:
        asked: ``--run-dir``, or ``None`` for a new one under ``runs/``.
        script_stem: What the default name ends with.
        cwd: What a relative path is relative to.

    Raises:
        ConfigurationRefused: The folder holds something already, or cannot be made.
    """
    if asked is not None:
        return _create_asked(asked, cwd)
    stem = re.sub(r"[^\w.-]+", "_", script_stem).strip("._")[:60] or "script"
    name = f"{time.strftime('%Y-%m-%dT%H-%M-%S')}-{stem}"
    try:
        (cwd / "runs").mkdir(exist_ok=True)
    except OSError as error:  # also where a file has that name
        raise _cannot_create(cwd / "runs", error) from error
    for number in range(1, 1000):
        path = cwd / "runs" / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            continue
        except OSError as error:
            raise _cannot_create(path, error) from error
        return RunDirectory(path)
    raise ConfigurationRefused("No free name for the run directory.", got=f"{name}-2 ... -999 exist")


def _create_asked(asked: str, cwd: Path) -> RunDirectory:
    path = cwd / asked
    try:
        path = cwd / Path(asked).expanduser()
        if (path / "plan.json").exists():
            raise _used(path)
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise ConfigurationRefused(
                "The run directory is not empty.",
                got=f"--run-dir {path}",
                expected="a folder that does not exist, or is empty",
            )
        path.chmod(0o700)
        _claim(path)
    except RuntimeError as error:  # ~name of nobody
        raise ConfigurationRefused(
            "The run directory cannot be found.", got=f"--run-dir {asked}: {error}", expected="a folder"
        ) from error
    except OSError as error:
        raise _cannot_create(path, error) from error
    return RunDirectory(path)


def _claim(path: Path) -> None:
    """Makes the folder ours: of two jobs that found it empty at the same moment, one goes on."""
    try:
        (path / "attempts").mkdir()
    except FileExistsError as error:
        raise _used(path) from error


def _used(path: Path) -> ConfigurationRefused:
    return ConfigurationRefused(
        "The run directory holds a run already.",
        got=f"--run-dir {path}",
        expected="a folder that does not exist, or is empty",
        fix=f"choose another name, or: rm -r {path}",
    )


def _cannot_create(path: Path, error: OSError) -> ConfigurationRefused:
    return ConfigurationRefused(
        "The run directory cannot be made.",
        got=f"{path}: {error.strerror}",
        expected="a place where you may write",
        fix="paceline run --run-dir /some/other/place ...",
    )


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Writes ``content`` so that a reader sees all of it or none.

    Raises:
        ConfigurationRefused: It cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
    except OSError as error:
        raise ConfigurationRefused(
            "The run directory cannot be written.",
            got=f"{path}: {error.strerror}",
            expected="some space on the disk",
            fix="paceline run --run-dir /a/disk/with/space ...",
        ) from error
