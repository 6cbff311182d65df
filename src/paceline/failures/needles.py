"""Texts that a line has to hold to match a pattern: far quicker to look for than the pattern."""

from __future__ import annotations

from dataclasses import dataclass, field

Needles = tuple[str, ...]
"""Of which every match holds at least one; empty: nothing is promised."""


def needles_of(pattern: str) -> Needles:
    r"""Returns texts of which every match of a pattern holds at least one.

    >>> needles_of(r"slurmstepd: error: \*\*\* (JOB|STEP) \d+"), needles_of(r"^(?:Killed|Dead)\b"), needles_of("ab?c|d")
    (('slurmstepd: error: *** ',), ('Killed', 'Dead'), ('a', 'd'))
    >>> needles_of(r"\d+ (?:x)?")
    (' ',)
    """
    found, _ = _alternatives(pattern, 0)
    return found


@dataclass
class _Sequence:
    """What one branch of a pattern is known to need, while it is read."""

    candidates: list[Needles] = field(default_factory=list)
    run: str = ""

    def end_run(self) -> None:
        if self.run:
            self.candidates.append((self.run,))
        self.run = ""

    def best(self) -> Needles:
        self.end_run()
        return max(self.candidates, key=lambda texts: min(map(len, texts)), default=())


def _alternatives(pattern: str, position: int) -> tuple[Needles, int]:
    """Returns the needles of what stands up to the closing bracket, and the place of that bracket."""
    branches: list[Needles] = []
    sequence = _Sequence()
    while position < len(pattern) and pattern[position] != ")":
        if pattern[position] == "|":
            branches.append(sequence.best())
            sequence = _Sequence()
            position += 1
        else:
            position = _item(pattern, position, sequence)
    branches.append(sequence.best())
    return (() if () in branches else tuple(text for branch in branches for text in branch)), position


def _item(pattern: str, position: int, sequence: _Sequence) -> int:
    """Reads one character, set or group with what repeats it; returns the place behind it."""
    char, literal = pattern[position], ""
    needles: Needles = ()
    if char == "\\":
        escaped = pattern[position + 1]
        literal, position = ("" if escaped.isalnum() else escaped), position + 2
    elif char == "[":
        position = _end_of_set(pattern, position)
    elif char == "(":
        is_around = pattern.startswith(("(?=", "(?!", "(?<=", "(?<!"), position)
        needles, position = _alternatives(pattern, _inside_of_group(pattern, position))
        needles, position = (() if is_around else needles), position + 1
    else:
        literal, position = ("" if char in ".^$" else char), position + 1
    is_optional = pattern[position : position + 1] in {"?", "*"} or pattern.startswith(("{0", "{,"), position)
    is_repeated = pattern[position : position + 1] in {"+", "{"}
    if is_optional or is_repeated:
        position = pattern.index("}", position) + 1 if pattern[position] == "{" else position + 1
        position += pattern.startswith("?", position)  # as few as possible
    if literal and not is_optional:
        sequence.run += literal
    if not literal or is_optional or is_repeated:
        sequence.end_run()
    if needles and not is_optional:
        sequence.candidates.append(needles)
    return position


def _inside_of_group(pattern: str, position: int) -> int:
    """Returns where the pattern of the group begins whose bracket stands at ``position``."""
    for opening in ("(?:", "(?=", "(?!", "(?<=", "(?<!"):
        if pattern.startswith(opening, position):
            return position + len(opening)
    return pattern.index(">", position) + 1 if pattern.startswith("(?P<", position) else position + 1


def _end_of_set(pattern: str, start: int) -> int:
    """Returns the place behind the set of characters, ``[^]...]``, that begins at ``start``."""
    position = start + 1 + (pattern[start + 1] == "^")
    position += pattern[position] == "]"
    while pattern[position] != "]":
        position += 2 if pattern[position] == "\\" else 1
    return position + 1
