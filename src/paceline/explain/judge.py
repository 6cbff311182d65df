"""Which of the known lines is the first cause. Pure functions over what was seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from paceline.explain.scan import Hit, Reading, Scan, Seen
from paceline.failures.row import Kind, fill
from paceline.failures.table import family_of

_SAME_FAILURE_LINES = 80
"""A line that says more about a failure stands so near to the one that says less."""


@dataclass(frozen=True)
class Explanation:
    """Why a job failed, as far as its files say.

    Attributes:
        first: The line that says it best; None: no line is known to say anything.
        who: The worker that failed first, in words; empty: not known.
        by: How that was told: ``time`` or ``place``.
        others: What else was seen: later causes, and consequences.
        noise: What was recognised and says nothing.
        said: A sentence on what the files of a run say besides, such as an exit code.
        looked_at: What was read.
    """

    first: Hit | None
    who: str
    by: str
    others: Sequence[Seen] = ()
    noise: Sequence[Seen] = ()
    said: str = ""
    looked_at: Sequence[Reading] = field(default_factory=tuple)

    @property
    def is_found(self) -> bool:
        """Whether there is anything to say."""
        return self.first is not None or bool(self.said)

    @property
    def meaning(self) -> str:
        """What has happened."""
        return "" if self.first is None else fill(self.first.row.meaning, self.first.groups)

    @property
    def fix(self) -> str:
        """What to do."""
        return "" if self.first is None else fill(self.first.row.fix, self.first.groups)

    def to_json(self) -> dict[str, Any]:
        """Returns it for a program."""
        first = None
        if self.first is not None:
            first = {**_hit(self.first), "meaning": self.meaning, "fix": self.fix, "source": self.first.row.source}
        return {
            "schema": 1,
            "found": self.is_found,
            "worker": self.who,
            "by": self.by,
            "said": self.said,
            "first": first,
            "others": [{**_hit(seen.first), "count": seen.count} for seen in self.others],
            "noise": [{"name": seen.first.row.name, "count": seen.count} for seen in self.noise],
            "read": [
                {"file": r.file, "bytes": r.num_bytes, "lines": r.num_lines, "not_read": r.gap} for r in self.looked_at
            ],
        }


def _hit(hit: Hit) -> dict[str, Any]:
    frame = hit.script
    return {
        "name": hit.row.name,
        "family": family_of(hit.row),
        "kind": hit.row.kind.value,
        "worker": hit.worker,
        "file": hit.file,
        "line": hit.number,
        "text": hit.text,
        "time": None if hit.moment is None else str(hit.moment),
        "script": None if frame is None else {"file": frame.file, "line": frame.line, "source": frame.source},
    }


def judge(scan: Scan, worker: str | None = None) -> Explanation:
    """Returns the first cause among what was seen, or else the first consequence.

    A cause after which the same worker trained on counts only where there is no other.

    Args:
        scan: What was seen.
        worker: Look at this worker's lines only.
    """
    seen = [one for one in scan.seen.values() if worker is None or one.first.worker == worker]
    causes = [one for one in seen if one.first.row.kind is Kind.CAUSE]
    after = [one for one in seen if one.first.row.kind is Kind.CONSEQUENCE]
    noise = [one for one in seen if one.first.row.kind is Kind.NOISE]
    # Of consequences, those say more that name the worker that was lost.
    candidates = causes or [one for one in after if one.first.groups.get("rank")] or after
    if not candidates:
        return Explanation(None, "", "place", noise=noise, looked_at=scan.readings)
    fatal = [one for one in candidates if not _is_survived(scan, one)] or candidates
    by_time = _share_a_clock(fatal)
    first = min(fatal, key=lambda one: _when(one.first, by_time=by_time))
    best = _more_particular(first, fatal)
    others = sorted((one for one in (*causes, *after) if one not in (first, best)), key=lambda one: one.first.order)
    hit = best.first if best.first.script else replace(best.first, script=first.first.script)
    by = "time" if by_time and len(fatal) > 1 else "place"
    return Explanation(hit, who_failed(hit), by, others, noise, looked_at=scan.readings)


def who_failed(hit: Hit) -> str:
    """Returns the worker that a line tells of: the one that it names, or the one that printed it."""
    groups = hit.groups
    rank, host = groups.get("rank"), groups.get("host")
    name = f"worker {rank}" if rank else f"worker {hit.worker}" if hit.worker.isdecimal() else hit.worker
    on = f" on {host}" if name and host and family_of(hit.row) in {"slurm", "mpi", "paceline"} else ""
    return name + on


def _is_survived(scan: Scan, seen: Seen) -> bool:
    return scan.progress.get(seen.first.worker, (-1, -1)) > seen.last.order


def _share_a_clock(candidates: Sequence[Seen]) -> bool:
    moments = [one.first.moment for one in candidates]
    return len({moment.clock for moment in moments if moment is not None}) == 1 and None not in moments


def _when(hit: Hit, *, by_time: bool) -> tuple[float, tuple[int, int]]:
    return (hit.moment.t if by_time and hit.moment is not None else 0.0, hit.order)


def _more_particular(first: Seen, candidates: Sequence[Seen]) -> Seen:
    """Returns the candidate that tells more of the same failure than a general line does."""
    if not first.first.row.is_general:
        return first
    file, number = first.first.order
    near = [
        one
        for one in candidates
        if not one.first.row.is_general
        and one.first.worker == first.first.worker
        and one.first.order[0] == file
        and 0 <= one.first.order[1] - number <= _SAME_FAILURE_LINES
    ]
    return min(near, key=lambda one: one.first.order) if near else first
