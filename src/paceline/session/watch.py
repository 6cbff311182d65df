"""Shows on the status page that this worker is inside a collective."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from paceline.journal.status import Phase


class StatusWatch:
    """See `paceline.collectives.transport.Watch`."""

    def __init__(self, status: Any) -> None:
        self._status = status

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """Returns a context in which the status page says that this worker waits for its peers."""
        before = self._status.phase
        self._status.enter_collective()
        self._status.set_phase(Phase.REDUCE)
        try:
            yield
        finally:
            self._status.set_phase(before)
