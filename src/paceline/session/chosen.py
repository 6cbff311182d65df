"""Whose step options take effect: the command line's, then the script's, then the default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from paceline.errors import UsageError
from paceline.step_options import IN_ONE_PROCESS, StepOptions

_DEFAULT = StepOptions()
_ON_THE_COMMAND_LINE = {"wire_dtype": "--wire-dtype", "bucket_mb": "--bucket-mb", "jit": "--jit"}


def settle(
    asked: StepOptions, script: StepOptions, current: StepOptions, *, running: str, choices: Sequence[str]
) -> tuple[StepOptions, list[str]]:
    """Returns the options that take effect, and in words what of the script's does not.

    Args:
        asked: The command line's.
        script: What the script gave to ``paceline.strategy``.
        current: Those in effect; their communication stays.
        running: How replicas are summed in this job, ``none`` for one replica.
        choices: Ways of communication that this job could have been started with; empty for one replica.

    >>> settle(StepOptions(jit="on"), StepOptions(jit="off"), StepOptions(), running="none", choices=())[0].jit
    'on'
    """
    told = []
    values = {}
    for name, option in _ON_THE_COMMAND_LINE.items():
        given, wanted, default = getattr(asked, name), getattr(script, name), getattr(_DEFAULT, name)
        values[name] = wanted if given == default else given
        if wanted not in (default, values[name]):
            told.append(f"{name}={wanted!r} of the script is without effect: paceline run was given {option} {given}")
    if script.communication not in ("auto", running):
        told.append(
            f"communication={script.communication!r} of the script is without effect: "
            f"{_why_not(script.communication, running, choices)}"
        )
    return replace(current, **values), told


def describe_change(before: StepOptions, after: StepOptions) -> str:
    """Returns in words what a later call of ``paceline.strategy`` changes; empty where it is nothing.

    >>> describe_change(StepOptions(), StepOptions(jit="on"))
    "paceline.strategy() was given other options than before: from now on jit='on' (it was 'auto')"
    """
    changes = [
        f"{name}={getattr(after, name)!r} (it was {getattr(before, name)!r})"
        for name in _ON_THE_COMMAND_LINE
        if getattr(after, name) != getattr(before, name)
    ]
    if not changes:
        return ""
    return f"paceline.strategy() was given other options than before: from now on {', '.join(changes)}"


def check_type(options: object) -> None:
    """Refuses what is no ``StepOptions``.

    Raises:
        UsageError: It is something else.
    """
    if not isinstance(options, StepOptions):
        raise UsageError(
            "paceline.strategy() takes step options",
            got=f"paceline.strategy({options!r})",
            expected="paceline.StepOptions(...), or nothing",
            fix='paceline.strategy(paceline.StepOptions(wire_dtype="bfloat16"))',
        )


def _why_not(wanted: str, running: str, choices: Sequence[str]) -> str:
    if not choices:
        return "there is one replica, nothing to sum"
    if wanted in choices:
        is_default = "TensorFlow's own choice" if running == "auto" else running
        return f"it is fixed when the job starts, and is {is_default}: paceline run --communication {wanted}"
    where = "the replicas of one process" if wanted in IN_ONE_PROCESS else "several workers"
    return f"it is for {where}"
