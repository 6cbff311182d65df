"""``python -m paceline.worker``: prepares this process, then hands over to the session."""

from __future__ import annotations

import argparse
import atexit
import importlib
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import NoReturn, cast

from paceline.errors import ConfigurationRefused, PacelineError
from paceline.journal.status import Phase, StatusWriter
from paceline.journal.writer import JournalWriter
from paceline.worker import crash, lease, signals, streams
from paceline.worker.environment import settings
from paceline.worker.exits import exit_code_of
from paceline.worker.job import Assignment, read_assignment

# By name: this room starts without TensorFlow, the session does not.
SESSION_MODULE = "paceline.session"
# So long the pools of a script that failed may take to end.
_POOLS_S = 2.0


def main() -> int:
    """Runs this worker's part of the job and returns its exit code."""
    arguments = _parse_arguments()
    lease.hold(arguments.lease_fd, arguments.launcher_pid)
    _forget_current_directory()
    streams.flush_each_line()
    try:
        assignment = read_assignment(os.environ)
        variables = settings(assignment, os.environ)
        status = _open_files(assignment)
    except PacelineError as error:
        crash.show(crash.format_error(error))
        return error.exit_code
    os.environ.pop("TF_CONFIG", None)  # that of another cluster; this job's is among the variables, where it has one
    os.environ.update(variables)
    pmi = os.environ.get("PMI_FD", "")
    if pmi.isdecimal():
        os.set_inheritable(int(pmi), False)  # it belongs to this process, not to what the script starts
    journal = JournalWriter(assignment.directory / "journal.jsonl", assignment.rank)
    signals.install_signals(
        signals.SignalWatch(
            is_saving=lambda: status.phase == Phase.CHECKPOINT,
            on_signal=lambda name: journal.event("signal", name=name),
            grace_s=assignment.grace_s,
            has_peers=assignment.num_workers > 1,
        )
    )
    journal.event("start", pid=os.getpid(), host=socket.gethostname())
    status.set_phase(Phase.START)
    return _run_session(assignment, journal, status)


def _open_files(assignment: Assignment) -> StatusWriter:
    """Opens what must be there; returns the status page.

    Raises:
        ConfigurationRefused: The folder of this worker cannot be written, for instance because the disk is full.
    """
    try:
        assignment.directory.mkdir(parents=True, exist_ok=True)
        if assignment.job.get("verbose_communication"):
            streams.divert_native_stderr(assignment.directory / "communication.log")
        crash.record_stacks(assignment.directory / "stacks")
    except OSError as error:
        raise _cannot_write(assignment, str(error.strerror)) from error
    status = StatusWriter(assignment.directory / "status")
    # The others wait for what they read there: of saves, of the end.
    if assignment.num_workers > 1 and not status.is_shared:
        raise _cannot_write(assignment, "no live status")
    return status


def _cannot_write(assignment: Assignment, why: str) -> ConfigurationRefused:
    return ConfigurationRefused(
        "The run directory cannot be written.",
        got=f"{assignment.directory}: {why}",
        expected="some space on the disk of the run directory",
        fix="paceline run --run-dir /a/disk/with/space ...",
    )


def _run_session(assignment: Assignment, journal: JournalWriter, status: StatusWriter) -> int:
    name = str(assignment.job.get("session_module", SESSION_MODULE))
    try:
        session_main = cast("Callable[..., int]", importlib.import_module(name).main)
        return int(session_main(assignment.job, assignment.rank, journal, status))
    except SystemExit as error:
        code = exit_code_of(error)
    except KeyboardInterrupt as error:  # a person's wish, no error: shown, as python does, and not recorded as one
        crash.show(crash.format_error(error))
        code = 130
    except BaseException as error:  # noqa: BLE001  whatever the script raises ends it
        code = crash.report(error, journal)
    journal.event("end", exit_code=code)
    return code


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m paceline.worker", description=__doc__)
    parser.add_argument("--lease-fd", type=int, help="read end of the launcher's pipe")
    parser.add_argument("--launcher-pid", type=int, help="the launcher, where it is the parent")
    return parser.parse_args()


def _forget_current_directory() -> None:
    # ``python -m`` puts it first on the path (without -P, which Python 3.10 lacks), where a file
    # named like a module of the standard library would be imported by us instead.
    if sys.path and sys.path[0] in ("", os.getcwd()) and not getattr(sys.flags, "safe_path", False):
        del sys.path[0]


def _leave(code: int) -> NoReturn:
    """Ends the process as ``python`` would, short of tearing down C libraries.

    MPI's own exit handler waits for all ranks, and TensorFlow's threads may crash while they are taken down: the
    files are closed, the answer is known, so the process ends here. A script that failed does not wait for its
    threads, and for its exit functions no longer than the grace time: its peers are waiting for the news.
    """
    limit_s = signals.begin_leaving()
    if code == 0:
        threading._shutdown()  # type: ignore[attr-defined]  # waits for the script's threads
    else:
        threading.Thread(target=_leave_late, args=(code, limit_s), daemon=True).start()
        _end_pools()
    atexit._run_exitfuncs()
    signals.flush()
    os._exit(code)


def _end_pools() -> None:
    """Has pools of threads and processes end, as `python` does before exit functions.

    Those of `multiprocessing` wait for processes, and what tells these to go (of `concurrent.futures` and of joblib) is
    what Python calls before it waits for threads. It also waits for what a pool is doing, and that may take long.
    """

    def end() -> None:
        for function in reversed(getattr(threading, "_threading_atexits", ())):
            function()

    ending = threading.Thread(target=end, daemon=True)
    ending.start()
    ending.join(_POOLS_S)


def _leave_late(code: int, limit_s: float) -> NoReturn:
    """Ends the process when its exit functions have not ended within a limit."""
    time.sleep(limit_s)
    crash.show(f"paceline: the script's exit functions have not ended within {limit_s:g} s (--grace): left behind\n")
    signals.flush()
    os._exit(code)


if __name__ == "__main__":
    _leave(main())
