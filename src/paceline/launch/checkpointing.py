"""What a job does with the checkpoints of an earlier one: go on, begin anew, or refuse, before anything is started."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from paceline.checkpoint_dir import identity
from paceline.checkpoint_dir.layout import FITS, RUN, is_remote, step_of
from paceline.checkpoint_dir.manifest import decode_run
from paceline.decision import Decision
from paceline.errors import CheckpointDamaged, ConfigurationRefused
from paceline.launch.options import RunOptions
from paceline.launch.plan import JobPlan
from paceline.step_options import StepOptions

_EARLIER = "earlier"
_ANOTHER = "paceline run --checkpoint-dir ANOTHER ..."
_ANEW = "paceline run --resume never ...   (what is there is moved aside, not removed)"


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """What was found.

    Attributes:
        options: What was asked for, with what ``--resume RUNDIR`` adds.
        directory: The checkpoint directory; None: a folder of the run, or there are no checkpoints.
        run: Its ``run.json``; None: nothing is there, or nobody goes on with it.
        seed: Of the earlier run.
        aside: Whether what is there is to be moved aside.
    """

    options: RunOptions
    directory: str | None = None
    run: Mapping[str, Any] | None = None
    seed: int | None = None
    aside: bool = False


def look(options: RunOptions, cwd: Path) -> Earlier:
    """Returns what an earlier run has left, and what becomes of it. Changes nothing.

    Raises:
        ConfigurationRefused: It has ended, or cannot be read.
    """
    if not options.has_checkpoints:
        return Earlier(options=options)
    seed = None
    if options.resume not in ("auto", "never"):
        options, seed = _of_run(options, cwd)
    if options.checkpoint_dir is None:
        return Earlier(options=options)
    if is_remote(options.checkpoint_dir):
        return Earlier(options=options, directory=options.checkpoint_dir, seed=seed)  # a worker looks
    directory = cwd / Path(options.checkpoint_dir).expanduser()
    holds = _holds(directory)
    if options.resume == "never" or not holds:
        return Earlier(options=options, directory=str(directory), seed=seed, aside=holds)
    run = _read_run(directory)
    if run.get("state") == "finished":
        raise ConfigurationRefused(
            "The checkpoint directory holds a run that has ended; it is neither trained again nor gone on with.",
            got=str(directory),
            expected="a directory that is new, or of a run that was interrupted",
            fix=f"{_ANOTHER}\nor: {_ANEW}",
        )
    return Earlier(options=options, directory=str(directory), run=run, seed=int(run.get("seed", 0)))


def add(plan: JobPlan, options: RunOptions, earlier: Earlier, cwd: Path) -> JobPlan:
    """Returns the plan with its checkpoints.

    Raises:
        ConfigurationRefused: The checkpoint directory holds another run.
    """
    if not options.has_checkpoints:
        return plan
    mine = identity.describe(
        kind=str(plan.script["kind"]),
        target=options.target,
        argv=options.script_args,
        file=_file_of(options, cwd),
        seed=plan.seed,
        options=asdict(options.step),
    )
    decisions: tuple[Decision, ...] = ()
    if earlier.run is not None:
        differences = identity.differences(earlier.run, mine)
        if differences:
            raise ConfigurationRefused(
                "The checkpoint directory holds another run.",
                got="\n".join([str(earlier.directory), *differences]),
                expected="the same script, arguments, seed and options, to go on",
                fix=f"{_ANOTHER}\nor: {_ANEW}",
            )
        decisions = (Decision("resume", earlier.directory, "it holds this run, interrupted", is_fallback=True),)
    kind, number = options.checkpoint_every or ("auto", 0)
    checkpoint = {
        "dir": earlier.directory or "",
        "every": "auto" if kind == "auto" else {kind: int(number) if kind == "steps" else number},
        "keep": options.keep_checkpoints,
        "keep_every_s": options.keep_every_s,
        "resume": "never" if options.resume == "never" else "auto",
        "writers": options.checkpoint_writers,
        "run": mine,
    }
    return replace(plan, checkpoint=checkpoint, decisions=(*plan.decisions, *decisions))


def prepare(earlier: Earlier, tell: Callable[[str], None]) -> None:
    """Moves aside what nobody goes on with.

    Raises:
        ConfigurationRefused: It cannot be moved.
    """
    if not earlier.aside or earlier.directory is None:
        return
    root = Path(earlier.directory)
    name = time.strftime("%Y-%m-%dT%H-%M-%S")
    aside = root / _EARLIER / f"{name}-{os.getpid()}"
    try:
        aside.mkdir(parents=True)
        for path in sorted(root.iterdir()):
            if path.name != _EARLIER:
                path.rename(aside / path.name)
    except OSError as error:
        raise ConfigurationRefused(
            "The checkpoints of an earlier run cannot be moved aside.",
            got=f"{error.filename}: {error.strerror}",
            fix=_ANOTHER,
        ) from error
    tell(f"what was in {root} is in {aside} now (--resume never)")


def _holds(directory: Path) -> bool:
    """Returns whether there are checkpoints, or what says whose they are."""
    try:
        names = os.listdir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise ConfigurationRefused(
            "The checkpoint directory cannot be read.", got=f"{directory}: {error.strerror}", fix=_ANOTHER
        ) from error
    return any(name in (RUN, FITS) or step_of(name) is not None for name in names)


def _read_run(directory: Path) -> dict[str, Any]:
    path = directory / RUN
    try:
        return decode_run(path.read_bytes(), str(path))
    except FileNotFoundError:
        why = "there is no run.json, so that nobody knows of which run they are"
    except CheckpointDamaged as error:
        why = error.got
    except OSError as error:
        why = f"{path}: {error.strerror}"
    raise ConfigurationRefused(
        "It is not known whose checkpoints these are.", got=f"{directory}: {why}", fix=f"{_ANOTHER}\nor: {_ANEW}"
    )


def _of_run(options: RunOptions, cwd: Path) -> tuple[RunOptions, int]:
    """Returns the options with those of an earlier run, and its seed."""
    run_dir = cwd / Path(options.resume).expanduser()
    try:
        plan = json.loads((run_dir / "plan.json").read_text(encoding="utf-8"))
        seed, step = int(plan["seed"]), StepOptions(**plan["step"])
        directory = (plan.get("checkpoint") or {}).get("dir")
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = error.strerror if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        raise ConfigurationRefused(
            "That is no run directory.",
            got=f"--resume {options.resume}: {run_dir / 'plan.json'}: {why}",
            expected="auto, never, or the directory of an earlier run",
            fix="--resume auto",
        ) from error
    if plan.get("checkpoint") is None:
        raise ConfigurationRefused(
            "The earlier run has kept no checkpoints.",
            got=f"--resume {options.resume}",
            fix="paceline run --checkpoint-dir DIR ...   in both",
        )
    own = {name: getattr(options, name) for name in ("wire_dtype", "bucket_mb", "jit")}
    theirs = {name: getattr(step, name) for name in own}
    default = {name: getattr(StepOptions(), name) for name in own}
    changes = {name: theirs[name] for name in own if own[name] == default[name]}
    return replace(
        options,
        checkpoint_dir=options.checkpoint_dir or directory or str(run_dir / "checkpoints"),
        **changes,
    ), seed


def _file_of(options: RunOptions, cwd: Path) -> Path | None:
    """Returns the file that is run; None for a module, which a worker finds by its own path."""
    if options.module:
        path = cwd / (options.target.replace(".", "/") + ".py")
        return path if path.is_file() else None
    path = cwd / options.target
    return path / "__main__.py" if path.is_dir() else path
