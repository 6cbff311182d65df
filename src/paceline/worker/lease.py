"""A worker does not outlive its launcher.

Two ways, because each has a hole: the kernel's parent-death signal is lost when the parent dies before it is
asked for, and a thread can't run while C code holds the interpreter's lock. The launcher holds the write end of a
pipe and never writes; the end of file says that it is gone, however it ended.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time

_PR_SET_PDEATHSIG = 1
# A worker whose launcher is gone has this long to end by itself. No other worker will answer it any more.
ORPHAN_GRACE_S = 3.0


def hold(descriptor: int | None, launcher_pid: int | None) -> None:
    """Ties this process to its launcher.

    Args:
        descriptor: Inherited read end of the launcher's pipe, or ``None``.
        launcher_pid: Process id of the launcher where it is this process' parent, or ``None``.
    """
    if launcher_pid is not None:
        _ask_for_parent_death_signal(launcher_pid)
    if descriptor is not None:
        os.set_inheritable(descriptor, False)
        threading.Thread(target=_watch, args=(descriptor,), name="paceline-lease", daemon=True).start()


def _ask_for_parent_death_signal(launcher_pid: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != launcher_pid:  # it died before the kernel was asked
        os._exit(128 + signal.SIGTERM)


def _watch(descriptor: int) -> None:
    try:
        while os.read(descriptor, 1):
            pass
    except OSError:  # the script has closed whatever is open; the launcher's guard still looks after it
        return
    own_session = os.getpgrp() == os.getpid()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(ORPHAN_GRACE_S)
    if own_session:
        os.killpg(0, signal.SIGKILL)  # and the processes that the script started
    os._exit(128 + signal.SIGTERM)
