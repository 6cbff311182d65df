"""What a worker leaves behind when it fails: stacks in its folder, the error in its journal and on stderr."""

from __future__ import annotations

import contextlib
import dis
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
_OUR_FRAMES = (_PACKAGE + os.sep, "<frozen runpy>", "<frozen importlib")
_SIGNALS = str(Path(__file__).with_name("signals.py").resolve())
_KERAS_FILTER = os.sep + os.path.join("keras", "src", "utils", "traceback_utils.py")
_RUNPY = os.sep + "runpy.py"  # not frozen before Python 3.11


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
    journal.event("error", type=type(error).__qualname__, text=_text_of(error), traceback=text)
    show(text)
    return error.exit_code if isinstance(error, PacelineError) else 1


def show(text: str) -> None:
    """Prints to stderr, where there still is one: a script may have closed it."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        print(text, file=sys.stderr, end="", flush=True)


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  an error of the script's own class; ``traceback`` says the same of it
        return "<exception str() failed>"


def format_error(error: BaseException) -> str:
    """Returns what is printed for ``error``: as ``python`` does, without the frames of paceline.

    Those between the script's and Keras' stay where the script had Keras show its own:
    ``keras.config.disable_traceback_filtering()``.
    """
    if isinstance(error, PacelineError):
        return f"paceline: {error}\n"
    trimmed = error.with_traceback(_script_part(error))
    shown = traceback.TracebackException(type(trimmed), trimmed, trimmed.__traceback__, compact=True)
    if _filters_frames():
        _leave_out_ours(trimmed, shown)
    text = "".join(shown.format())
    # Python 3.10 shows no notes, but for where the package exceptiongroup has it do so.
    notes = (f"{note}\n" for note in getattr(error, "__notes__", ()))
    return text + "".join(note for note in notes if note not in text)


def _filters_frames() -> bool:
    """Returns whether Keras leaves out its own frames. This room imports no Keras; the script may have."""
    enabled = getattr(getattr(sys.modules.get("keras"), "config", None), "is_traceback_filtering_enabled", None)
    return enabled is None or bool(enabled())


def _leave_out_ours(error: BaseException, shown: traceback.TracebackException) -> None:
    """Leaves out the frames of paceline, also of the errors behind an error; not where one of them raised it."""
    others = [frame for frame in shown.stack if not frame.filename.startswith(_PACKAGE + os.sep)]
    if others and (others[-1] is shown.stack[-1] or not _is_a_fault_of_ours(error)):
        shown.stack[:] = others
    behind = [(error.__cause__, shown.__cause__), (error.__context__, shown.__context__)]
    if group := getattr(shown, "exceptions", None):  # of an ExceptionGroup, from Python 3.11 on
        behind += zip(error.exceptions, group, strict=False)  # type: ignore[attr-defined]  # has them, as the one shown has
    for cause, its in behind:
        if cause is not None and its is not None:
            _leave_out_ours(cause, its)


def _is_a_fault_of_ours(error: BaseException) -> bool:
    """Returns whether paceline's code, which an error's last frame is in, has raised it, and not on purpose.

    Keras takes its own and TensorFlow's frames out below each of its calls. Then the last one left is in a call.
    """
    if isinstance(error, (PacelineError, KeyboardInterrupt, SystemExit)):
        return False
    last, is_filtered = error.__traceback__, False
    while last is not None and last.tb_next is not None:
        is_filtered = is_filtered or last.tb_frame.f_code.co_filename.endswith(_KERAS_FILTER)
        last = last.tb_next
    is_in_call = last is not None and dis.opname[last.tb_frame.f_code.co_code[last.tb_lasti]].startswith("CALL")
    return not (is_filtered and is_in_call)


def _script_part(error: BaseException) -> TracebackType | None:
    """Returns the frames of the script; of an error of paceline itself, all."""
    frame, last = error.__traceback__, ""
    while frame is not None and (name := frame.tb_frame.f_code.co_filename).startswith(_OUR_FRAMES):
        frame, last = frame.tb_next, name
    while frame is not None and (name := frame.tb_frame.f_code.co_filename).endswith(_RUNPY):
        frame, last = frame.tb_next, name
    if frame is not None:
        return _without_handler(frame)
    # No line of the script has run: it is no Python, or runpy did not find the module.
    never_began = not last.startswith(_PACKAGE) or (
        isinstance(error, SyntaxError) and not str(error.filename).startswith(_PACKAGE)
    )
    return None if never_began else error.__traceback__


def _without_handler(frames: TracebackType) -> TracebackType:
    """Takes off the frame of our signal handler: Ctrl-C shows the line of the script that it came at."""
    frame = frames
    while frame.tb_next is not None:
        if frame.tb_next.tb_frame.f_code.co_filename == _SIGNALS:
            frame.tb_next = None
            break
        frame = frame.tb_next
    return frames
