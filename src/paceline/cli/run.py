"""``paceline run``: train a script on N workers."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from paceline import versions
from paceline.cli.split import Split, split
from paceline.cli.types import Devices, Duration, DurationOrAuto, Every, Variable
from paceline.errors import ConfigurationRefused, UsageError
from paceline.launch.options import CHECKPOINT_WRITERS, STRATEGIES, RunOptions
from paceline.step_options import COMMUNICATIONS, JITS, WIRES

_SPLIT = "paceline.split"


class RunCommand(click.Command):
    """A command whose arguments belong to two programs: paceline and the script."""

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Returns the usage line, in which the script stands between our options and its own."""
        del ctx
        return ["[OPTIONS]", "(SCRIPT | -m MODULE)", "[ARGS]..."]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses our options only; keeps the script and its arguments for the callback."""
        takes_value = {
            name: not param.is_flag
            for param in self.get_params(ctx)
            if isinstance(param, click.Option)
            for name in param.opts
            if name.startswith("--")
        }
        _check_folder()
        result = split(args, takes_value, _script_options)
        ctx.meta[_SPLIT] = result
        return super().parse_args(ctx, result.own)


def _script_options(target: str, module: bool) -> frozenset[str]:
    from paceline.cli.script_options import options_of

    return options_of(target, module, [Path.cwd(), *(Path(entry) for entry in sys.path if entry)])


@click.command(
    cls=RunCommand,
    epilog="Options of paceline may also stand after the script, unless the script has an option of that name; "
    "everything after -- goes to the script untouched.",
)
@click.option("-m", "module_name", metavar="MODULE", expose_value=False, help="Run a module, as python -m does.")
@click.option("--workers", type=int, metavar="N", help="Processes of the job. Default: one per GPU, else 1.")
@click.option("--strategy", type=click.Choice(STRATEGIES), default="auto", show_default=True, help="How to replicate.")
@click.option(
    "--replicas-per-worker", type=int, metavar="N", help="Copies in one process. Default: one per GPU of it, else 1."
)
@click.option("--devices", type=Devices(), help="GPUs to use, such as 2,3; '' for none. Default: all visible.")
@click.option(
    "--communication",
    type=click.Choice(COMMUNICATIONS),
    default="auto",
    show_default=True,
    help="How replicas are summed: nccl, ring, mpi between workers; nccl, hierarchical, one-device in one process.",
)
@click.option(
    "--wire-dtype",
    type=click.Choice(WIRES),
    default="float32",
    show_default=True,
    help="What gradients travel as between workers.",
)
@click.option(
    "--bucket-mb",
    type=float,
    default=0.0,
    metavar="N",
    help="Sum gradients in pieces of about N MiB, the last layers' first. Default: in one piece.",
)
@click.option("--jit", type=click.Choice(JITS), default="auto", show_default=True, help="Compile the step with XLA.")
@click.option("--run-dir", metavar="DIR", help="Folder of this run. Default: a new one under runs/.")
@click.option("--seed", type=int, metavar="N", help="Seed of the job. Default: drawn, and recorded.")
@click.option("--env", type=Variable(), multiple=True, metavar="K=V", help="Variable for each worker; repeatable.")
@click.option(
    "--start-timeout", "start_timeout_s", type=Duration(), default="5m", show_default=True, help="Limit to meet."
)
@click.option(
    "--grace",
    "grace_s",
    type=Duration(),
    default="30s",
    show_default=True,
    help="From SIGTERM to SIGKILL: for handlers and finally blocks of the script. After Ctrl-C they have 6s.",
)
@click.option(
    "--checkpoint-dir", metavar="DIR", help="Keep checkpoints there, and go on from them. Default: in the run's folder."
)
@click.option(
    "--checkpoint-every", type=Every(), metavar="EVERY", help="5m, 500steps, or auto: what costs least. Default: auto."
)
@click.option(
    "--keep-checkpoints", type=int, default=3, show_default=True, metavar="N", help="How many of the newest stay."
)
@click.option("--keep-every", "keep_every_s", type=Duration(), help="Of the older ones one in so long stays too.")
@click.option(
    "--checkpoint-writers",
    type=click.Choice(CHECKPOINT_WRITERS),
    default="one",
    show_default=True,
    help="Who writes: worker 0 in the background, or all, each a part, while training waits.",
)
@click.option(
    "--resume",
    default="auto",
    show_default=True,
    metavar="auto|never|RUNDIR",
    help="Go on from what --checkpoint-dir holds; begin anew; or go on with an earlier run.",
)
@click.option(
    "--max-restarts",
    type=int,
    default=0,
    show_default=True,
    metavar="N",
    help="Start the job again, from its newest checkpoint, when a worker is killed, lost or stuck.",
)
@click.option(
    "--stall-timeout",
    "stall_timeout_s",
    type=DurationOrAuto(),
    metavar="TIME",
    help="End a job of which no worker comes further. Default: auto, from how long its steps take.",
)
@click.option("--all-output", is_flag=True, help="Show the output of every worker, prefixed.")
@click.option("--quiet", is_flag=True, help="Show the chief's output only.")
@click.option("--verbose-communication", is_flag=True, help="Log collectives and NCCL, into files.")
@click.option("--dry-run", is_flag=True, help="Show the plan; start nothing.")
def command(**options: Any) -> int:
    """Train SCRIPT, or MODULE, on N workers; ARGS go to it."""
    result: Split = click.get_current_context().meta[_SPLIT]
    run_options = build_options(result, options)
    if not run_options.quiet:
        _tell_owners(result)
    check_versions(run_options)
    run: Callable[[RunOptions], int] = importlib.import_module("paceline.launch.local").run
    return run(run_options)


def build_options(result: Split, options: dict[str, Any]) -> RunOptions:
    """Returns what was asked for, checked.

    Raises:
        UsageError: There is no script, or it cannot be found, or a value is out of range.
        ConfigurationRefused: What was asked for cannot work.
    """
    if not result.target:
        raise UsageError(
            "there is nothing to run",
            got="paceline run " + " ".join(result.own),
            expected="a script, or -m MODULE",
            fix="paceline run train.py --workers 2",
        )
    if not result.module:
        _check_script(result.target)
    return RunOptions(target=result.target, module=result.module, script_args=tuple(result.script_args), **options)


def check_versions(options: RunOptions) -> None:
    """Refuses versions that are known to be wrong, and warns of untested ones; a dry run is only warned.

    Raises:
        VersionRefused: The workers could not train right.
    """
    found = versions.installed()
    verdict = versions.judge_installed({**os.environ, **dict(options.env)}, found)
    got = f"Python {found.python}, TensorFlow {found.tensorflow}, Keras {found.keras}"
    if not options.dry_run:
        verdict.raise_if_refused(got)
    if verdict.kind != "tested" and not options.quiet:
        click.echo(f"paceline: warning: {verdict.reason}" + (f" ({verdict.fix})" if verdict.fix else ""), err=True)


def _check_script(target: str) -> None:
    path = Path(target)
    try:
        if path.is_file() or (path / "__main__.py").is_file():
            return
        what, names = _what_is_wrong(path), [entry.name for entry in path.parent.glob("*.py")]
    except OSError as error:  # too long a name, a folder that may not be entered
        raise UsageError(
            f"the script cannot be read: {error.strerror}", got=target, expected="a Python file", fix=f"ls -l {target}"
        ) from error
    close = difflib.get_close_matches(path.name, names, n=1)
    fix = f"did you mean {path.parent / close[0]}?" if close else ""
    raise UsageError(what, got=f"{target} (in {Path.cwd()})", expected="a Python file", fix=fix)


def _what_is_wrong(path: Path) -> str:
    if path.is_dir():
        return "the script is a folder without __main__.py"
    # Each worker reads the script for itself: a pipe has it once.
    return "the script is no regular file" if path.exists() else "the script is not there"


def _check_folder() -> None:
    try:
        Path.cwd()
    except OSError as error:
        raise ConfigurationRefused(
            "the current folder does not exist any more",
            got=f"{os.environ.get('PWD', 'the current folder')}: {error.strerror}",
            expected="a folder that the workers can be started in",
            fix="cd into a folder that exists",
        ) from error


def _tell_owners(result: Split) -> None:
    """Says which options after the script went to whom; nothing is decided in silence."""
    if result.taken and result.script_args:
        # Only where both programs got something can it matter who got what.
        words = ", ".join(result.taken)
        click.echo(f"paceline: took {words} from behind the script (after -- they are the script's)", err=True)
    for word, ours in _look_alikes(result):
        click.echo(f"paceline: {word} goes to the script; did you mean {ours}?", err=True)
    if result.left:
        words = ", ".join(result.left)
        click.echo(f"paceline: left {words} to {result.target}, which has it too (ours stands before it)", err=True)


def _look_alikes(result: Split) -> list[tuple[str, str]]:
    """Returns arguments for the script that look like options of ours written wrong, each with that option."""
    ours = [name for param in command.params for name in param.opts if name.startswith("--")]
    theirs = _script_options(result.target, result.module) if result.target else frozenset()
    found = []
    for word in result.script_args:
        name = word.split("=", 1)[0]
        if not name.startswith("--") or name in theirs or name in ours:
            continue
        close = difflib.get_close_matches(name, ours, n=1, cutoff=0.8)
        if close:
            found.append((name, close[0]))
    return found
