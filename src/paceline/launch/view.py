"""The live view: one line for each worker, below the chief's output."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping

from paceline.journal.status import Phase, Status

_MAX_LINES = 8
_WINDOW_S = 3.0
# Longer than any ordinary step; a tracing step may take longer and then says TRACE.
_SILENT_S = 5.0
_PASSIVE = (Phase.END, Phase.SCRIPT)


class Speed:
    """Samples per second over the last few seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def update(self, now: float, samples: int) -> float | None:
        """Returns samples per second, or ``None`` where there is nothing to tell yet."""
        if self._seen and samples < self._seen[-1][1]:
            self._seen.clear()
        self._seen.append((now, samples))
        while len(self._seen) > 2 and now - self._seen[0][0] > _WINDOW_S:
            self._seen.popleft()
        (began, first), (ended, last) = self._seen[0], self._seen[-1]
        return (last - first) / (ended - began) if last > first and ended > began else None


class View:
    """Makes the lines; draws nothing."""

    def __init__(self) -> None:
        self._speed = Speed()

    def lines(self, statuses: Mapping[int, Status], ended: Mapping[int, int], now: float) -> tuple[str, ...]:
        """Returns one line for each worker.

        Args:
            statuses: Each worker's status page.
            ended: Exit code of each worker that has ended.
            now: Unix seconds.
        """
        speed = self._speed.update(now, max((s.samples for s in statuses.values()), default=0))
        lines = [
            worker_line(rank, status, ended.get(rank), speed if rank == 0 else None, now)
            for rank, status in sorted(statuses.items())
        ]
        if len(lines) > _MAX_LINES:
            hidden = len(lines) - _MAX_LINES + 1
            lines = [*lines[: _MAX_LINES - 1], f" and {hidden} more workers"]
        return tuple(lines)


def worker_line(rank: int, status: Status, code: int | None, samples_per_s: float | None, now: float) -> str:
    """Returns what a person wants to know of one worker.

    >>> s = Status(phase=Phase.STEP, step=586, epoch=1, step_in_epoch=118, steps_per_epoch=468, loss=0.25, updated=9.0)
    >>> worker_line(0, s, None, 12345.0, 10.0)
    ' worker 0  STEP        epoch 2  118/468  step 586  12,345 samples/s  loss 0.25'
    """
    if code is not None:
        return f" worker {rank}  {'ended' if code == 0 else f'ended with {code}'}"
    parts = [f" worker {rank}  {status.phase.name:<10}"]
    if status.step:
        of = f"/{status.steps_per_epoch}" if status.steps_per_epoch >= 0 else ""
        parts += [f"epoch {status.epoch + 1}", f"{status.step_in_epoch}{of}", f"step {status.step}"]
    if samples_per_s is not None:
        parts.append(f"{samples_per_s:,.0f} samples/s")
    if not math.isnan(status.loss):
        parts.append(f"loss {status.loss:.4g}")
    silence = now - status.updated
    if status.updated and silence > _SILENT_S and status.phase not in _PASSIVE:
        parts.append(f"no news for {silence:.0f} s")
    return "  ".join(parts)
