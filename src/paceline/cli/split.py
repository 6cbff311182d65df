"""Whose is an argument of ``paceline run``: ours, or the script's.

The rule (``docs/decisions/0002-options-after-the-script.md``): before the script, options are ours. After it,
everything is the script's, except an option of ours that the script does not have itself. ``--`` ends it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

SEPARATOR = "--"
_NEVER_AFTER = "--help"  # `paceline run train.py --help` shows the script's help, as with python

ScriptOptions = Callable[[str, bool], frozenset[str]]
"""(target, module) -> the options that the script has."""


@dataclass(slots=True)
class Split:
    """The arguments of one command line, by owner. One split belongs to one call of ``split``.

    Attributes:
        own: Options of paceline, with their values.
        target: The script or module, or None where none is given.
        module: Whether the target is a module.
        script_args: What the script gets.
        taken: Options after the script that paceline took, as written.
        left: Options after the script that carry a name of ours and are the script's.
    """

    own: list[str] = field(default_factory=list)
    target: str | None = None
    module: bool = False
    script_args: list[str] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def split(args: Sequence[str], takes_value: Mapping[str, bool], script_options: ScriptOptions) -> Split:
    """Returns the arguments by owner.

    Args:
        args: Everything after ``paceline run``.
        takes_value: Each option of ours, and whether a value follows it.
        script_options: Tells the options that a script has; asked only where it matters.
    """
    result = Split()
    rest = _before(result, list(args), takes_value)
    if rest is None or result.target is None:
        return result
    own_names = {_name(arg) for arg in _until_separator(rest) if _name(arg) in takes_value}
    names_of_script = script_options(result.target, result.module) if own_names else frozenset[str]()
    _after(result, rest, takes_value, names_of_script)
    return result


def _name(arg: str) -> str:
    return arg.partition("=")[0]


def _until_separator(args: list[str]) -> list[str]:
    return args[: args.index(SEPARATOR)] if SEPARATOR in args else args


def _before(result: Split, args: list[str], takes_value: Mapping[str, bool]) -> list[str] | None:
    """Reads up to the target; returns what follows it, or None where it is the script's untouched."""
    while args:
        arg = args.pop(0)
        if arg == SEPARATOR:
            result.target = args.pop(0) if args else None
            result.script_args = args
            return None
        if arg.startswith("-m") and not arg.startswith("--"):
            result.module = True
            result.target = arg[2:] or (args.pop(0) if args else None)
            return args
        if not arg.startswith("-") or arg == "-":
            result.target = arg
            return args
        result.own.append(arg)
        if takes_value.get(arg) and args:
            result.own.append(args.pop(0))
    return args


def _after(result: Split, args: list[str], takes_value: Mapping[str, bool], of_script: frozenset[str]) -> None:
    """Reads what follows the target."""
    while args:
        arg = args.pop(0)
        name = _name(arg)
        if arg == SEPARATOR:
            result.script_args += args
            return
        is_ours = name in takes_value and name != _NEVER_AFTER and (takes_value[name] or arg == name)
        if not is_ours:
            result.script_args.append(arg)
            continue
        words = [arg, args.pop(0)] if takes_value[name] and arg == name and args else [arg]
        if name in of_script:
            result.script_args += words
            result.left.append(name)
        else:
            result.own += words
            result.taken.append(" ".join(words))
