"""The composition root of a worker: repairs, strategy, hooks on Keras, then the person's script.

Enters: `job.json` and this worker's rank, from `python -m paceline.worker`. Leaves: an
exit code. May import every hot room, and the journal.
"""

from __future__ import annotations

from typing import Any


def main(job: dict[str, Any], rank: int, journal: Any, status: Any) -> int:
    """Runs the script as worker `rank` of the job and returns the exit code.

    Called by the worker after its environment is set. Collective: every worker calls it.

    Args:
        job: What `job.json` holds; see docs/contracts.md.
        rank: This worker's rank.
        journal: This worker's `paceline.journal.writer.JournalWriter`.
        status: This worker's `paceline.journal.status.StatusWriter`.

    Raises:
        PacelineError: The job cannot run; carries the exit code.
    """
    from paceline.session.quiet import without_noise

    with without_noise():
        from paceline.session.compose import Session

    return Session(job, rank, journal, status).run()
