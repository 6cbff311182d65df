"""Reads and checks job.json: everything that a worker is told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paceline.errors import ConfigurationRefused

SCHEMA_VERSION = 1
_REQUIRED = ("script", "num_workers", "cluster", "run_dir", "attempt")


@dataclass(frozen=True)
class Assignment:
    """This worker's part of a job.

    Attributes:
        job: The whole of job.json, handed on to the session unchanged.
        rank: This worker's rank; 0 is the chief.
    """

    job: Mapping[str, Any]
    rank: int

    @property
    def num_workers(self) -> int:
        """All workers of the job."""
        return int(self.job["num_workers"])

    @property
    def directory(self) -> Path:
        """This worker's folder in the run directory."""
        attempt = Path(self.job["run_dir"]) / "attempts" / str(self.job["attempt"])
        return attempt / f"worker-{self.rank}"

    @property
    def grace_s(self) -> float:
        """How long a worker may take to end once it was told to."""
        return float(self.job.get("limits", {}).get("grace_s", 30.0))


def read_assignment(environ: Mapping[str, str]) -> Assignment:
    """Returns what the environment assigns to this process.

    Raises:
        ConfigurationRefused: A variable is missing, or job.json is not what it should be.
    """
    path, rank_text = environ.get("PACELINE_JOB", ""), environ.get("PACELINE_RANK", "")
    if not path or not rank_text.isdecimal():
        raise ConfigurationRefused(
            "This process does not know which job it belongs to.",
            got=f"PACELINE_JOB={path!r}, PACELINE_RANK={rank_text!r} in the environment",
            expected="both, as set by the launcher",
            fix="paceline run YOUR_SCRIPT.py",
        )
    job = _read(path)
    rank, num_workers = int(rank_text), job["num_workers"]
    if not isinstance(num_workers, int) or not 0 <= rank < num_workers:
        raise ConfigurationRefused(
            "This worker has no place in its job.",
            got=f"PACELINE_RANK={rank}, num_workers={num_workers!r} in {path}",
            expected="a rank below num_workers",
        )
    return Assignment(job=job, rank=rank)


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            job: dict[str, Any] = json.load(file)
    except OSError as error:
        raise ConfigurationRefused(
            "The description of the job cannot be read.",
            got=f"PACELINE_JOB={path!r}: {error.strerror}",
            expected="a job.json that this host can read (a shared disk, if the job spans hosts)",
        ) from error
    except ValueError as error:
        raise ConfigurationRefused("job.json is no JSON.", got=f"{path}: {error}") from error
    missing = [key for key in _REQUIRED if not isinstance(job, dict) or key not in job]
    if missing or job.get("schema") != SCHEMA_VERSION:
        raise ConfigurationRefused(
            "job.json is not of the form that this version of paceline reads.",
            got=f"{path}: schema {job.get('schema') if isinstance(job, dict) else None!r}"
            + (f", without {', '.join(missing)}" if missing else ""),
            expected=f"schema {SCHEMA_VERSION} with {', '.join(_REQUIRED)}",
            fix="use one version of paceline on every host",
        )
    return job
