"""Lines of paceline itself."""

from __future__ import annotations

from paceline.failures.row import Kind, Row

_CAUSE, _AFTER, _NOISE = Kind.CAUSE, Kind.CONSEQUENCE, Kind.NOISE

ROWS = (
    Row(
        "paceline-fix",
        _CAUSE,
        r"^  fix:      (?P<fix>.+)",
        "paceline refused the job, or ended it; the lines above say why.",
        "{fix}",
        "docs/contracts.md",
    ),
    Row(
        "paceline-failed-first",
        _AFTER,
        r"^paceline: workers? (?P<rank>\d+).* of \d+ on (?P<host>\S+) failed(?: first| alike)?: (?P<how>.*)",
        "Worker {rank} on {host} failed first: {how}.",
        "paceline explain RUNDIR (the folder that the lines below name)",
        "docs/contracts.md",
    ),
    Row(
        "paceline-was-ended",
        _NOISE,
        r"^  worker (?P<rank>\d+) (?:was ended; it was in|failed after it:)",
        "A worker that was ended after another had failed.",
        "",
        "docs/contracts.md",
    ),
    Row(
        "paceline-tells",
        _NOISE,
        r"^paceline: ",
        "paceline tells what it does.",
        "",
        "docs/contracts.md",
        is_general=True,
    ),
)
