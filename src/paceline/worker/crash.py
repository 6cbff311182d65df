"""What a worker leaves behind when it fails: stacks in its folder, the error in its journal and on stderr."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import traceback
from pathlib import Path
from types import TracebackType

from paceline.errors import PacelineError
from paceline.journal.writer import JournalWriter

_PACKAGE = str(Path(__file__).resolve().parents[1])
_OUR_FRAMES = (_PACKAGE + os.sep, "<frozen runpy>", "<frozen importlib", os.sep + "runpy.py")


def record_stacks(directory: Path) -> None:
    """Has the stacks of all threads written to ``directory`` at a crash in C code, and on SIGUSR1."""
    directory.mkdir(parents=True, exist_ok=True)
    # Open for the life of the process: the handlers write to the bare descriptors.
    crash = (directory / "crash.txt").open("ab", buffering=0)
    request = (directory / "request.txt").open("ab", buffering=0)
    faulthandler.enable(file=crash, all_threads=True)
    faulthandler.register(signal.SIGUSR1, file=request, all_threads=True)
    _open_files.extend((crash, request))


_open_files: list[object] = []


def report(error: BaseException, journal: JournalWriter) -> int:
    """Shows an error that ended the script, records it, and returns the exit code.

    An error of ours is shown without a traceback: its text says what to do.
    """
    text = format_error(error)
    print(text, file=sys.stderr, end="", flush=True)
    journal.event("error", type=type(error).__qualname__, text=_text_of(error), traceback=text)
    return error.exit_code if isinstance(error, PacelineError) else 1


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  an error of the script's own class; ``traceback`` says the same of it
        return "<exception str() failed>"


def format_error(error: BaseException) -> str:
    """Returns what is printed for ``error``: as ``python`` does, without the frames of paceline above the script's."""
    if isinstance(error, PacelineError):
        return f"paceline: {error}\n"
    trimmed = error.with_traceback(_script_part(error.__traceback__))
    return "".join(traceback.format_exception(trimmed))


def _script_part(frames: TracebackType | None) -> TracebackType | None:
    frame = frames
    while frame is not None and frame.tb_frame.f_code.co_filename.startswith(_OUR_FRAMES[:3]):
        frame = frame.tb_next
    while frame is not None and frame.tb_frame.f_code.co_filename.endswith(_OUR_FRAMES[3]):
        frame = frame.tb_next
    return frame or frames  # an error of paceline itself keeps all of its frames
