"""Shows on the status page which collective this worker is inside, and waits there without burning its core."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from typing import Any

from paceline.collectives.transport import Exchange
from paceline.errors import ScriptRefused
from paceline.journal.status import Phase, StatusReader
from paceline.session.calls import Calls, refusal

#: So long a worker looks for the others without a pause: a step's difference between workers is less, mostly.
_KEEN_S = 1e-3
#: Then it sleeps: a hundredth of what it has waited, but neither less nor more than this.
_SHORTEST_S, _LONGEST_S = 50e-6, 2e-3


class StatusWatch:
    """See `paceline.collectives.transport.Watch`.

    MPI waits for a late worker at full speed, for minutes if need be. That takes the core from whoever shares it, and
    after it TensorFlow's iterators take as long again to close (2.19 to 2.21; their tuning thread misses its wake-up).
    So a worker enters a collective once the others' pages say that they have come too, and to the same one: two
    different collectives would take each other's bytes, or wait for ever.

    Args:
        status: This worker's page.
        rank: This worker's rank.

    Attributes:
        calls: Which of Keras' calls this worker is in.
        peers: The other workers' pages by rank; none: nobody is waited for here.
        refused: What was raised here. Inside a graph TensorFlow makes an error of its own of it.
    """

    def __init__(self, status: Any, rank: int = 0) -> None:
        self.status = status
        self.rank = rank
        self.calls = Calls()
        self.peers: Mapping[int, StatusReader] = {}
        self.refused: ScriptRefused | None = None

    def enter_step(self) -> None:
        """Counts a step as a collective: its own may be TensorFlow's, which nobody counts. Does not wait."""
        self.status.enter_collective(self.calls.enters("step"))

    @contextlib.contextmanager
    def inside(self, what: Exchange, size: int = 0) -> Iterator[None]:
        """Returns a context in which the status page says that this worker waits for its peers."""
        before = self.status.phase
        self.status.enter_collective(self.calls.enters(what, size))
        self.status.set_phase(Phase.REDUCE)
        try:
            self._wait()
            yield
        finally:
            self.status.set_phase(before)

    def difference(self) -> ScriptRefused | None:
        """Returns the error where a peer has entered another collective than this worker, at the same place."""
        entered = self._entered()
        if any(self.calls.contradict(theirs) for theirs in entered.values()):
            return refusal({**entered, self.rank: self.calls.last})
        return None

    def _entered(self) -> dict[int, int]:
        read = {rank: peer.entered for rank, peer in self.peers.items()}
        return {rank: theirs for rank, theirs in read.items() if theirs is not None}

    def _wait(self) -> None:
        """Returns when every peer whose page can be read has entered as many collectives."""
        if self._has_all():
            return
        began = time.perf_counter()
        while not self._has_all():
            waited = time.perf_counter() - began
            time.sleep(0 if waited < _KEEN_S else min(_LONGEST_S, max(_SHORTEST_S, waited / 100)))

    def _has_all(self) -> bool:
        mine, has_all = self.calls.last, True
        for rank, peer in self.peers.items():
            theirs = peer.entered
            if theirs is None or theirs == mine:
                continue
            if self.calls.contradict(theirs):
                self.refused = refusal({**self._entered(), rank: theirs, self.rank: mine})
                raise self.refused
            has_all = has_all and self.calls.has_come(theirs)
        return has_all
