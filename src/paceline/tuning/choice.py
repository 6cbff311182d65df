"""Which way to sum is best: times in, one choice out. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paceline.tuning.ring import TENSORFLOWS_OWN, RingTuning

LARGE_BYTES = 64 * 2**10
LARGE_WEIGHT = 4
"""Gradients are summed in buffers that are large; what is small are metrics and meetings."""

RULE = (
    "the least mean, over sizes, of time / least time at that size; "
    f"sizes of {LARGE_BYTES // 2**10} kB and more count {LARGE_WEIGHT} times"
)


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """One way to sum.

    Attributes:
        transport: ``ring`` or ``mpi``.
        tuning: How RING moves a buffer; ``None`` for another transport.
    """

    transport: str
    tuning: RingTuning | None = None

    def __str__(self) -> str:
        return self.transport if self.tuning is None else f"{self.transport} ({self.tuning})"


@dataclass(frozen=True, kw_only=True)
class Measured:
    """How long one contestant took.

    Attributes:
        times_s: Size of the buffer in bytes -> seconds of one sum.
    """

    contestant: Contestant
    times_s: Mapping[int, float]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The best tuning of RING.

    Attributes:
        less_time: Share of the time of TensorFlow's own setting that is saved, 0 to 1; ``None`` where that was not
            measured.
    """

    tuning: RingTuning
    less_time: float | None

    @property
    def reason(self) -> str:
        """In words what is gained."""
        if self.tuning == TENSORFLOWS_OWN:
            return "TensorFlow's own setting takes the least time"
        if self.less_time is None:
            return "the least time of what was measured"
        return f"{100 * self.less_time:.0f} % less time than TensorFlow's own setting"


def choose(results: Sequence[Measured]) -> Choice | None:
    """Returns the best tuning of RING by ``RULE``, the first of equals; ``None`` where RING was not measured.

    Args:
        results: Contestants that were measured at the same sizes.
    """
    rings = [result for result in results if result.contestant.tuning is not None]
    means = {
        result.contestant.tuning: mean for result, mean in zip(rings, mean_times(rings), strict=True)
    }  # first of equals: dicts keep their order
    best = min(means, key=lambda tuning: means[tuning], default=None)
    if best is None:
        return None
    own = means.get(TENSORFLOWS_OWN)
    return Choice(tuning=best, less_time=None if own is None else 1 - means[best] / own)


def mean_times(results: Sequence[Measured]) -> list[float]:
    """Returns for each result the mean that ``RULE`` speaks of; 1 is the best at every size.

    >>> small, large = 4, 2**20
    >>> a = Measured(contestant=Contestant(transport="a"), times_s={small: 1.0, large: 2.0})
    >>> b = Measured(contestant=Contestant(transport="b"), times_s={small: 2.0, large: 1.0})
    >>> mean_times([a, b])
    [1.8, 1.2]
    """
    least: dict[int, float] = {}
    for result in results:
        for size, time_s in result.times_s.items():
            least[size] = min(time_s, least.get(size, time_s))
    weights = {size: LARGE_WEIGHT if size >= LARGE_BYTES else 1 for size in least}
    total = sum(weights.values())
    return [sum(weights[size] * time_s / least[size] for size, time_s in r.times_s.items()) / total for r in results]


def bus_bandwidth(size_bytes: int, time_s: float, num_workers: int) -> float:
    """Returns bytes a second that a link of each worker carries, whatever the number of workers.

    Source: nccl-tests, doc/PERFORMANCE.md, AllReduce: ``S/t * (2*(n-1)/n)``.

    >>> bus_bandwidth(1000, 0.5, 2), bus_bandwidth(1000, 0.5, 4)
    (2000.0, 3000.0)
    """
    return 2 * (num_workers - 1) / num_workers * size_bytes / time_s
