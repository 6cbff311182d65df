"""The root command, and the one place where an exception becomes a text and an exit code."""

from __future__ import annotations

import contextlib
import errno
import io
import itertools
import os
import sys
import traceback
from collections.abc import Sequence

import click

from paceline import __version__
from paceline.cli.lazy import Entry, LazyGroup
from paceline.errors import EXIT_INTERNAL, EXIT_OUTPUT, PacelineError

EXIT_INTERRUPTED = 130  # 128 + SIGINT

COMMANDS = {
    "run": Entry("paceline.cli.run", "Train a script on N workers."),
    "tune": Entry("paceline.cli.tune", "Measure how workers sum fastest here, and keep it."),
    "checkpoint": Entry("paceline.cli.checkpoint", "List, show, verify or convert checkpoints."),
    "explain": Entry("paceline.cli.explain", "Say of a log or a run which worker failed first and why."),
    "cluster": Entry("paceline.cli.cluster", "Show or check who takes part."),
    "doctor": Entry("paceline.cli.doctor", "Say whether this machine is fit to train."),
}


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: the script's own; 1 output cannot be written; 2 usage; "
    "70 internal error; 78 refused; 124 limit reached; 128+n signal n.",
)
@click.version_option(__version__, prog_name="paceline", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def root(*, debug: bool) -> None:
    """Your Keras script, unchanged, on any number of GPUs and machines."""
    del debug  # read by main, which also has to know it when parsing fails


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit code.

    Args:
        argv: The arguments without the program's name; by default those of this process.
    """
    args = list(sys.argv[1:] if argv is None else argv)
    _prepare_output()
    debug = "--debug" in itertools.takewhile(lambda arg: arg.startswith("-"), args)
    code = _run(args, debug=debug)
    error = _output_error()
    if error is None:
        return code
    if error.errno != errno.EPIPE:  # else whoever read it has enough (| head)
        _tell(f"standard output cannot be written: {error.strerror}", debug=False)
    _forget_output()
    return code or EXIT_OUTPUT


def _run(args: Sequence[str], *, debug: bool) -> int:
    """Runs a command line; says what is wrong, and returns its exit code."""
    try:
        result = root.main(args=list(args), prog_name="paceline", standalone_mode=False)
    except click.Abort:
        return EXIT_INTERRUPTED
    except click.ClickException as error:
        with contextlib.suppress(OSError):  # nobody can be told
            error.show()
        return error.exit_code
    except PacelineError as error:
        _tell(error.render(), debug=debug)
        return error.exit_code
    except OSError as error:
        if _output_error() is not None:  # main tells of it
            return EXIT_OUTPUT
        _tell(_internal(error), debug=debug)
        return EXIT_INTERNAL
    except Exception as error:  # noqa: BLE001 - the last place that can turn a fault into a text
        _tell(_internal(error), debug=debug)
        return EXIT_INTERNAL
    return result if isinstance(result, int) else 0


def _prepare_output() -> None:
    stdout = sys.stdout
    if not isinstance(stdout, io.TextIOWrapper):
        return
    # A name that the terminal cannot show is no reason to fail; Python does the same for stderr.
    if isinstance(stdout.buffer, io.FileIO):
        # python -u: without a buffer it could not be known afterwards whether all was written.
        sys.stdout = open(  # noqa: SIM115 - a descriptor, open as long as the process is
            stdout.fileno(), "w", encoding=stdout.encoding, errors="backslashreplace", closefd=False
        )
    else:
        stdout.reconfigure(errors="backslashreplace")


def _output_error() -> OSError | None:
    """Returns why standard output could not be written: what it holds is still there to be flushed."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        return error
    return None


def _forget_output() -> None:
    """Lets go of what cannot be written; Python would try again when it ends, and complain."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _tell(text: str, *, debug: bool) -> None:
    try:
        if debug:
            click.echo(traceback.format_exc(), err=True, nl=False)
        click.echo(f"paceline: {text}", err=True)
    except OSError:  # nobody can be told; the exit code still says what it was
        pass


def _internal(error: Exception) -> str:
    sentence = f"an error of paceline itself: {type(error).__name__}: {error}"
    return f"{sentence}\n  {'fix:':<10}report it with the output of: paceline --debug ..."
