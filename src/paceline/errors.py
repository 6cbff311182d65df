"""The one tree of exceptions, and the exit code that each ends a job with.

::

    PacelineError                 70   anything of ours; by itself an internal error
    ├── UsageError                 2   the command line cannot be understood
    ├── ConfigurationRefused      78   understood, but cannot work; never retried
    │   ├── ClusterError               a cluster description is wrong (TF_CONFIG and its like)
    │   ├── VersionRefused             a combination of versions that is known to be wrong
    │   ├── ScriptRefused              the script does what N workers cannot do right
    │   ├── CheckpointDamaged          what lies in a checkpoint is not what was written
    │   └── CheckpointNotWritten       a checkpoint cannot be written; what was there before stays
    ├── WorkerFailed               *   a worker ended badly; carries that worker's own exit code
    ├── LimitReached             124   a wait reached its limit (start-up, stall, end)
    └── TransportError            70   workers cannot exchange tensors

The text of an error is part of the product: what failed, in the person's words;
what was got and where it came from; what was expected; the fix, in one line that
can be pasted. The command line prints it without a traceback.
"""

from __future__ import annotations

EXIT_OUTPUT = 1  # as other programs end that cannot write their answer
EXIT_DAMAGED = 1  # what `paceline checkpoint verify` says of a directory, as diff and grep say it
EXIT_USAGE = 2
EXIT_INTERNAL = 70
EXIT_REFUSED = 78
EXIT_LIMIT = 124
EXIT_PREEMPTED = 143


class PacelineError(Exception):
    """Base of every error that paceline raises on purpose.

    Args:
        what: What failed, one sentence.
        got: The offending value and where it came from.
        expected: What would have been right.
        fix: One line to paste or one action to take.
    """

    exit_code: int = EXIT_INTERNAL
    #: AutoGraph rewrites what is raised inside a `tf.function` to a class of its own, but for errors that say this.
    ag_pass_through = True

    def __init__(self, what: str, *, got: str = "", expected: str = "", fix: str = "") -> None:
        self.what = what
        self.got = got
        self.expected = expected
        self.fix = fix
        super().__init__(self.render())

    def render(self) -> str:
        """Returns the text shown to a person: one label for each part that is known, and its lines."""
        lines = [self.what]
        for label, text in (("got", self.got), ("expected", self.expected), ("fix", self.fix)):
            if text:
                lines.append(f"  {label + ':':<10}" + text.replace("\n", f"\n{'':12}"))
        return "\n".join(lines)


class UsageError(PacelineError):
    """The command line cannot be understood."""

    exit_code = EXIT_USAGE


class ConfigurationRefused(PacelineError):
    """What was asked for is understood but cannot work; retrying cannot help."""

    exit_code = EXIT_REFUSED


class ClusterError(ConfigurationRefused):
    """A description of the cluster is wrong."""


class VersionRefused(ConfigurationRefused):
    """A combination of Python, TensorFlow and Keras versions that is known to be wrong."""


class ScriptRefused(ConfigurationRefused):
    """The script does something that cannot be right on several workers."""


class CheckpointDamaged(ConfigurationRefused):
    """What lies in a checkpoint is not what was written, or not there, or of a newer paceline."""


class CheckpointNotWritten(ConfigurationRefused):
    """A checkpoint cannot be written; what was complete before stays."""


class WorkerFailed(PacelineError):
    """A worker process ended badly.

    Args:
        what: What failed.
        exit_code: The exit code that the whole job ends with (the worker's own, or 128+n).
    """

    def __init__(self, what: str, *, exit_code: int, got: str = "", expected: str = "", fix: str = "") -> None:
        super().__init__(what, got=got, expected=expected, fix=fix)
        self.exit_code = exit_code


class LimitReached(PacelineError):
    """A wait reached its limit; the text names who or what was waited for."""

    exit_code = EXIT_LIMIT


class TransportError(PacelineError):
    """Workers cannot exchange tensors."""


def add_note(error: BaseException, note: str) -> None:
    """Adds to what is shown of an error, whose class and text stay; once.

    Python 3.10 shows no notes of its own: `paceline.worker.crash` does.

    >>> error = ValueError("wrong")
    >>> add_note(error, "because"), add_note(error, "because"), error.__notes__
    (None, None, ['because'])
    """
    notes = getattr(error, "__notes__", [])
    if note not in notes:
        error.__notes__ = [*notes, note]  # type: ignore[attr-defined]  # what `add_note` does from Python 3.11 on
