"""Every process that a job has started, directly or not: none is left when the job has ended."""

from __future__ import annotations

import ctypes
import os

import psutil  # type: ignore[import-untyped,unused-ignore]  # clean with and without types-psutil

_PR_SET_CHILD_SUBREAPER = 36
_POLITE_S = 1.0
_KILLED_S = 2.0


class Family:
    """The descendants of this process since ``Family()`` was made.

    This process becomes the one that orphans are handed to, so that a process whose parent has ended, and
    which has left its session, is found all the same.
    """

    def __init__(self) -> None:
        self._known = {process.pid for process in psutil.Process().children(recursive=True)}
        _set_subreaper(True)

    def end(self) -> None:
        """Ends all of them, politely at first, and stops adopting orphans."""
        rest = self._living()
        for number_wait in (_POLITE_S, _KILLED_S):
            for process in rest:
                _send(process, kill=number_wait == _KILLED_S)
            _, _ = psutil.wait_procs(rest, timeout=number_wait)
            rest = self._living()
            if not rest:
                break
        _set_subreaper(False)

    def _living(self) -> list[psutil.Process]:
        found = [p for p in psutil.Process().children(recursive=True) if p.pid not in self._known]
        living = []
        for process in found:
            try:
                if process.status() == psutil.STATUS_ZOMBIE:
                    _reap(process.pid)
                else:
                    living.append(process)
            except psutil.NoSuchProcess:
                continue
        return living


def _send(process: psutil.Process, *, kill: bool) -> None:
    try:
        process.kill() if kill else process.terminate()
    except psutil.NoSuchProcess:
        pass


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass


def _set_subreaper(on: bool) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, int(on), 0, 0, 0)
