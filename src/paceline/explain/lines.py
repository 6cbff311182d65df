"""What stands around the text of a line: which worker printed it, when, and colours."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import datetime, timezone

_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")

_PREFIXES = tuple(
    re.compile(pattern)
    for pattern in (
        # Kubernetes: kubectl logs --timestamps, the files of a node, --prefix
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d) (?:std(?:out|err) [FP] )?",
        r"\[pod/(?P<worker>[^/\]]+)(?:/[^\]]*)?\] ?",
        r"\[\d{4}-\d\d-\d\d[ T][\d:.,]+\] ?",
        r"\[\d+,(?P<worker>\d+)\]<std\w+>: ?",  # Open MPI: --tag-output
        r"\[(?:rank ?)?(?P<worker>\d+)\](?:[:|]|(?= )) ?",  # MPICH: -prepend-rank; torchrun
        r"(?:worker|rank|task)[ _-]?(?P<worker>\d+) ?[:|] ?",
        r"(?P<worker>[\w.-]*\d) +\| ",  # docker compose
        r"(?P<worker>\d+): ",  # Slurm: srun --label
        r"\((?P<worker>(?:\w+ )?pid=\d+)(?:, ip=[^)]*)?\) ",  # Ray
        r"  \| ",  # what paceline quotes
    )
)

_ISO = re.compile(
    r"(?:^\[?|CANCELLED AT )(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9})\d*)?(Z|[+-]\d\d:?\d\d)?"
)
_ABSL = re.compile(r"^[IWEF]\d{4} \d\d:\d\d:(\d{10}\.\d+) ")


@dataclass(frozen=True)
class Moment:
    """When a line was printed, as far as it says so.

    Attributes:
        t: Seconds; comparable where ``clock`` is the same.
        clock: ``utc`` or ``local``, a clock of unknown zone.
    """

    t: float
    clock: str

    def __str__(self) -> str:
        """Returns the time of day, for a person."""
        text = datetime.fromtimestamp(self.t, tz=timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
        return f"{text} UTC" if self.clock == "utc" else text


@dataclass(frozen=True)
class Line:
    """A line without what stands around it.

    Attributes:
        worker: The name that its prefix gives its worker, empty where it has none.
        moment: When it was printed, where it says so.
    """

    text: str
    worker: str = ""
    moment: Moment | None = None


def clean(raw: bytes) -> Line:
    r"""Returns the text of a line, who printed it and when.

    >>> clean(b"2026-11-30T12:00:00Z [1]: \x1b[31mKilled\x1b[0m")
    Line(text='Killed', worker='1', moment=Moment(t=1796040000.0, clock='utc'))
    """
    text = raw.decode("utf-8", "replace").rstrip("\r\n")
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    worker, moment = "", None
    for _ in range(4):  # at most so many prefixes stand before each other
        moment = moment or moment_of(text)
        match = next((match for prefix in _PREFIXES if (match := prefix.match(text))), None)
        if match is None:
            break
        worker = worker or match.groupdict().get("worker") or ""
        text = text[match.end() :]
    return Line(text, worker, moment)


def moment_of(text: str) -> Moment | None:
    """Returns the time that a line begins with, in the forms of TensorFlow, ISO 8601 and Slurm."""
    if match := _ABSL.match(text):
        return Moment(float(match[1]), "utc")
    match = _ISO.search(text)
    if match is None:
        return None
    try:
        year, month, day, hour, minute, second = (int(match[group]) for group in range(1, 7))
        parts = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
    except ValueError:  # a thirteenth month
        return None
    t = calendar.timegm(parts.timetuple()) + float(f"0.{match[7] or 0}")
    zone = match[8]
    if zone and zone != "Z":
        t -= (1 if zone[0] == "+" else -1) * (int(zone[1:3]) * 3600 + int(zone[-2:]) * 60)
    return Moment(t, "utc" if zone else "local")
