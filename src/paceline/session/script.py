"""Runs the person's script as `python` would: as `__main__`, with its arguments and its folder on the path."""

from __future__ import annotations

import builtins
import io
import os
import runpy
import sys
import types
from typing import Any

from paceline.errors import ConfigurationRefused
from paceline.worker.exits import exit_code_of


def run_script(script: dict[str, Any]) -> int:
    """Runs the script and returns its exit code, also that of `sys.exit(...)`.

    Args:
        script: `kind` (`path` or `module`), `target`, `argv` as in job.json.

    Raises:
        Whatever the script raises but `SystemExit`.
    """
    try:
        _run(script)
    except SystemExit as error:
        return exit_code_of(error)
    return 0


def _run(script: dict[str, Any]) -> None:
    arguments = list(script["argv"])
    if script["kind"] == "module":
        sys.argv = [script["target"], *arguments]
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        runpy.run_module(script["target"], run_name="__main__", alter_sys=True)
        return
    path = script["target"]
    sys.argv = [path, *arguments]
    if os.path.isdir(path):  # as `python folder` does
        path = os.path.join(path, "__main__.py")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=path, __builtins__=builtins, __spec__=None, __cached__=None)
    # Processes that the script starts (multiprocessing) find their classes in this module.
    sys.modules["__main__"] = main
    exec(_compiled(path), main.__dict__)  # noqa: S102  running the script is the task


def _compiled(path: str) -> types.CodeType:
    source = _source(path)
    before, null, _ = source.partition(b"\0")
    if null:  # compile() names no file then, and raises ValueError before Python 3.12
        raise SyntaxError("source code cannot contain null bytes", (path, before.count(b"\n") + 1, None, None))
    return compile(source, path, "exec")


def _source(path: str) -> bytes:
    try:
        with io.open_code(os.path.abspath(path)) as file:
            return file.read()
    except OSError as error:
        raise ConfigurationRefused(
            "The script cannot be read.",
            got=f"{path}: {error.strerror}",
            expected="a Python file",
            fix=f"ls -l {path}",
        ) from error
