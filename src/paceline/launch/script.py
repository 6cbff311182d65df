"""Is the script there, before anything else is done."""

from __future__ import annotations

import difflib
import importlib.machinery
import os
import shlex
import sys
from pathlib import Path

from paceline.errors import ConfigurationRefused


def check_script(target: str, *, module: bool, cwd: Path) -> None:
    """Refuses a script or module that cannot be run.

    Args:
        target: A path, or a module's name.
        module: Whether ``target`` is a module's name (``-m``).
        cwd: What a relative path is relative to.

    Raises:
        ConfigurationRefused: With what is wrong, and the nearest name where one is near.
    """
    if module:
        _check_module(target, cwd)
        return
    path = cwd / target
    if path.is_dir() and not (path / "__main__.py").is_file():
        scripts = sorted(child.name for child in path.glob("*.py"))
        raise ConfigurationRefused(
            "The script is a folder without __main__.py.",
            got=target,
            expected="a Python file" + (f", such as {', '.join(scripts[:5])} in it" if scripts else ""),
        )
    if not path.exists():
        near = _near_files(path)
        raise ConfigurationRefused(
            "The script does not exist.",
            got=f"{target} (in {cwd})",
            expected=f"did you mean {' or '.join(near)}?" if near else "a Python file",
            fix=f"paceline run {shlex.quote(near[0])}" if near else "",
        )
    if path.suffix == ".ipynb":
        raise ConfigurationRefused(
            "A notebook is no script.",
            got=target,
            expected="a Python file",
            fix=f"jupyter nbconvert --to script {shlex.quote(target)}",
        )
    if not os.access(path, os.R_OK):
        raise ConfigurationRefused("The script cannot be read.", got=target, fix=f"chmod u+r {shlex.quote(target)}")


def _check_module(name: str, cwd: Path) -> None:
    if name.endswith(".py") or "/" in name:
        raise ConfigurationRefused(
            "-m takes the name of a module, not a path.",
            got=f"-m {name}",
            fix=f"paceline run {shlex.quote(name)}",
        )
    # Only the first part: finding a submodule would import its packages here.
    top = name.partition(".")[0]
    search = [str(cwd), *sys.path]
    if top in sys.builtin_module_names or importlib.machinery.PathFinder.find_spec(top, search) is not None:
        return
    raise ConfigurationRefused(
        "There is no such module.",
        got=f"-m {name}",
        expected=f"a module in {cwd} or installed in {sys.prefix}",
    )


def _near_files(path: Path) -> list[str]:
    """Returns names, as a person would type them, of Python files that are spelt nearly so."""
    folder = path.parent
    while not folder.is_dir():
        folder = folder.parent
    try:
        names = [child.name for child in folder.iterdir() if child.suffix == ".py"]
    except OSError:
        return []
    near = difflib.get_close_matches(path.name, names, n=3, cutoff=0.5)
    return [os.path.relpath(folder / name) for name in near]
