"""Ends a worker whose main thread waits, inside TensorFlow, for peers that are in another call."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

from paceline.errors import ScriptRefused
from paceline.journal.status import Phase
from paceline.session.watch import StatusWatch
from paceline.worker import crash, signals

_EVERY_S = 1.0
#: A main thread that runs Python raises by itself, within a moment, and its `finally` blocks are reached.
_PATIENCE_S = 3.0
_NEEDS_PEERS = (Phase.REDUCE, Phase.STEP, Phase.EVALUATE, Phase.PREDICT)


def start(watch: StatusWatch, journal: Any) -> None:
    """Begins to look, from a thread. Once per worker that has peers. Collective: no."""

    def end(error: ScriptRefused) -> None:
        code = crash.report(error, journal)
        journal.event("end", exit_code=code)
        signals.flush()
        os._exit(code)

    threading.Thread(target=look, args=(watch, end), name="paceline-lookout", daemon=True).start()


def look(watch: StatusWatch, end: Callable[[ScriptRefused], None]) -> None:
    """Calls `end`, once, with what is wrong, when this worker has waited long where its peers will not come."""
    seen, since = None, 0.0
    while True:
        time.sleep(_EVERY_S)
        now = (watch.calls.last, watch.status.phase)
        if now != seen:
            seen, since = now, time.monotonic()
        elif now[1] in _NEEDS_PEERS and time.monotonic() - since >= _PATIENCE_S and (error := watch.difference()):
            end(error)
            return
