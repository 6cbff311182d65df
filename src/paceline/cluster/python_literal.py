"""A TF_CONFIG that was written as Python: a dict literal, or a program that assigns one.

Nothing is executed: the text is parsed, and only literals are evaluated.
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass
from typing import Any

_PARSE_FAULTS = (SyntaxError, ValueError, TypeError, MemoryError, RecursionError, OverflowError)


@dataclass(frozen=True, kw_only=True, slots=True)
class PythonValue:
    """A literal found in Python text.

    Attributes:
        value: The dict.
        line: The line it begins on, counted from 1.
        is_program: Whether it stood in a program (an assignment), not alone.
    """

    value: dict[Any, Any]
    line: int
    is_program: bool


def find_tf_config(text: str) -> PythonValue | None:
    """Returns the first dict of the text that can be a TF_CONFIG, or None.

    >>> find_tf_config("TF_CONFIG = {'cluster': {'worker': ['a:1']}}").value
    {'cluster': {'worker': ['a:1']}}
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape in somebody's text is not our warning
            module = ast.parse(text.strip())
            return _search(module)
    except _PARSE_FAULTS:
        return None


def _search(module: ast.Module) -> PythonValue | None:
    only = module.body[0] if len(module.body) == 1 else None
    if isinstance(only, ast.Expr):
        return _literal(only.value, is_program=False)
    dicts = [node for node in ast.walk(module) if isinstance(node, ast.Dict)]
    values = [value for node in sorted(dicts, key=_position) if (value := _literal(node, is_program=True)) is not None]
    return next((value for value in values if "cluster" in value.value), None)


def _position(node: ast.Dict) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _literal(node: ast.expr, *, is_program: bool) -> PythonValue | None:
    try:
        value = ast.literal_eval(node)
    except _PARSE_FAULTS:
        return None
    return PythonValue(value=value, line=node.lineno, is_program=is_program) if isinstance(value, dict) else None
