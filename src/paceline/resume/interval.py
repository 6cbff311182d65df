"""How often a checkpoint is taken."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

#: Assumed, as nothing is known of a machine that has not failed yet: each host fails once a day. Rather too often, as
#: what it costs to be wrong is little: with a quarter of the failures the interval would be twice as long.
ASSUMED_MTBF_S = 24 * 3600.0
#: `auto` stays within these. Below, a person would see checkpoints more than progress; above, a failure is felt.
LEAST_S, MOST_S = 30.0, 1800.0


def best_interval_s(cost_s: float, num_hosts: int) -> float:
    """Returns the interval at which checkpoints and lost work together cost least.

    Source: sqrt(2 C M), J. W. Young, "A first order approximation to the optimum checkpoint interval", CACM 17(9),
    1974; J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", FGCS 22(3), 2006,
    whose higher orders matter only where C is no longer small against M.

    Args:
        cost_s: C, what training waits for one checkpoint.
        num_hosts: M is the assumed time between failures of one host, divided by this.

    >>> best_interval_s(1.0, 1) > best_interval_s(1.0, 4) > best_interval_s(0.0, 4) == LEAST_S
    True
    """
    return min(MOST_S, max(LEAST_S, math.sqrt(2 * cost_s * ASSUMED_MTBF_S / num_hosts)))


@dataclass(kw_only=True)
class Interval:
    """When the next checkpoint is due; the chief's answer counts.

    Attributes:
        steps: In training steps, or None.
        seconds: In seconds, or None; with neither, chosen from what a checkpoint costs.
        num_hosts: Of the job.
    """

    steps: int | None = None
    seconds: float | None = None
    num_hosts: int = 1
    chosen_s: float = LEAST_S

    @classmethod
    def of(cls, every: Any, num_hosts: int = 1) -> Interval:
        """Returns what `job.json` says: `{"steps": n}`, `{"seconds": s}` or `"auto"`."""
        known = every if isinstance(every, dict) else {}
        return cls(steps=known.get("steps"), seconds=known.get("seconds"), num_hosts=num_hosts)

    def is_over(self, passed_s: float) -> bool:
        """Returns whether so much time since the last one is enough."""
        if self.steps is not None:
            return False
        return passed_s >= (self.chosen_s if self.seconds is None else self.seconds)

    def steps_left(self, step: int) -> int | None:
        """Returns how many steps are left until one is due by their number, None where time decides."""
        return None if self.steps is None else self.steps - step % self.steps

    def costs(self, cost_s: float) -> bool:
        """Learns what one has cost; returns whether that changes the interval by more than a tenth."""
        if self.steps is not None or self.seconds is not None:
            return False
        chosen = best_interval_s(cost_s, self.num_hosts)
        changes = abs(chosen - self.chosen_s) > 0.1 * self.chosen_s
        self.chosen_s = chosen if changes else self.chosen_s
        return changes

    def describe(self) -> str:
        """Returns it in words."""
        if self.steps is not None:
            return f"every {self.steps} steps"
        if self.seconds is not None:
            return f"every {self.seconds:g} s"
        return (
            f"every {self.chosen_s:.0f} s (auto: sqrt(2 x cost x time between failures), "
            f"assumed {ASSUMED_MTBF_S / 3600 / self.num_hosts:g} h)"
        )
