"""Shows on the status page that this worker is inside a collective, and waits there without burning its core."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from typing import Any

from paceline.journal.status import Phase, StatusReader

#: So long a worker looks for the others without a pause: a step's difference between workers is less, mostly.
_KEEN_S = 1e-3
#: Then it sleeps: a hundredth of what it has waited, but neither less nor more than this.
_SHORTEST_S, _LONGEST_S = 50e-6, 2e-3


class StatusWatch:
    """See `paceline.collectives.transport.Watch`.

    MPI waits for a late worker at full speed, for minutes if need be. That takes the core from whoever shares it, and
    after it TensorFlow's iterators take as long again to close (2.19 to 2.21; their tuning thread misses its wake-up).
    So a worker enters a collective once the others' pages say that they have come too.

    Attributes:
        peers: The other workers' pages; none: nobody is waited for here.
    """

    def __init__(self, status: Any) -> None:
        self._status = status
        self.peers: Sequence[StatusReader] = ()

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """Returns a context in which the status page says that this worker waits for its peers."""
        before = self._status.phase
        self._status.enter_collective()
        self._status.set_phase(Phase.REDUCE)
        try:
            self._wait(self._status.collectives)
            yield
        finally:
            self._status.set_phase(before)

    def _wait(self, number: int) -> None:
        """Returns when every peer whose page can be read has entered as many collectives."""
        if self._has_all(number):
            return
        began = time.perf_counter()
        while not self._has_all(number):
            waited = time.perf_counter() - began
            time.sleep(0 if waited < _KEEN_S else min(_LONGEST_S, max(_SHORTEST_S, waited / 100)))

    def _has_all(self, number: int) -> bool:
        for peer in self.peers:
            theirs = peer.collectives
            if theirs is not None and theirs < number:
                return False
        return True
