"""What an earlier attempt has left: ends of fits, and the newest checkpoint that all workers can read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from paceline.checkpoint.store import CheckpointStore, Stored
from paceline.collectives.transport import Transport
from paceline.errors import CheckpointDamaged


class Earlier:
    """Reads a checkpoint directory; every method is collective, and every worker gets the same answer.

    Args:
        store: The directory.
        transport: Between workers.
        tell: Shows a person one line.
    """

    def __init__(self, store: CheckpointStore, transport: Transport, tell: Callable[[str], None]) -> None:
        self._store = store
        self._transport = transport
        self._tell = tell
        self._is_chief = transport.rank == 0

    def end_of(self, number: int) -> Stored | None:
        """Returns how a fit ended, None where it has not, or nobody knows any more."""
        if not self._chief_says(int(self._is_chief and number in self._store.fits())):
            return None
        stored, problem = self._read(partial(self._store.read_fit, number))
        if stored is None:
            self._tell(f"how fit {number} ended cannot be read, and it is trained again. {problem}")
        return stored

    def newest_of(self, number: int, before: int | None = None) -> Stored | None:
        """Returns the newest checkpoint that all workers can read, if it was taken in this fit.

        What is damaged is set aside.

        Args:
            number: The fit.
            before: Only those of earlier job steps.
        """
        while True:
            newest = self._store.newest(before) if self._is_chief else None
            step = self._chief_says(-1 if newest is None else newest)
            if step < 0:
                return None
            stored, problem = self._read(partial(self._store.read, step))
            if stored is not None:
                return stored if stored.meta.get("fit") == number else None
            self._tell(f"the checkpoint of step {step} is not used, an older one is looked for. {problem}")
            if self._is_chief:
                self._store.set_aside(step)
            before = step

    def begin_of_epoch(self, saved: Stored) -> Stored | None:
        """Returns the checkpoint before the first step of the epoch that `saved` lies in; None: there is none."""
        number, epoch, before = int(saved.meta["fit"]), saved.meta["epoch"], saved.step
        while (stored := self.newest_of(number, before)) is not None and stored.meta["epoch"] == epoch:
            if not stored.meta["place"]:
                return stored
            before = stored.step
        return None

    def _read(self, read: Callable[[], Stored]) -> tuple[Stored | None, str]:
        """Returns what all workers can read, else None and why this one cannot."""
        stored, problem = None, "Another worker cannot read it."
        try:
            stored = read()
        except CheckpointDamaged as error:
            problem = error.render()
        readers = int(self._transport.all_reduce_host(np.array([stored is not None], np.int64))[0])
        return (stored, "") if readers == self._transport.size else (None, problem)

    def _chief_says(self, number: int) -> int:
        mine = number if self._is_chief else 0
        return int(self._transport.all_reduce_host(np.array([mine], np.int64))[0])
