"""Which options a script has, as far as its source tells; nothing is executed or imported.

Found are: texts such as ``"--seed"`` (argparse, click, ``sys.argv``), names given to absl's ``DEFINE_...``,
options in a docopt text, and, for libraries that make options out of parameters and fields (typer, fire, tyro
and their like), those names. Modules of the same folder that the script imports are searched too.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

_MAX_FILES = 64
_MAX_BYTES = 2_000_000
_OPTION = re.compile(r"(?<![\w-])--[A-Za-z][\w-]*")
_OPTIONS_FROM_NAMES = frozenset({
    "typer", "fire", "tyro", "jsonargparse", "simple_parsing", "tap", "draccus", "transformers", "plac", "defopt",
    "cyclopts",
})  # fmt: skip
_OPTIONS_FROM_TEXT = frozenset({"docopt", "docopt_ng"})


def options_of(target: str, module: bool, search: Sequence[Path]) -> frozenset[str]:
    """Returns the long options that a script mentions, such as ``--seed``.

    Args:
        target: Path of the script, or name of the module.
        module: Whether it is a module.
        search: Folders in which modules are looked for.
    """
    start = find_module(target, search) if module else Path(target)
    if start is not None and start.is_dir():
        start /= "__main__.py"
    roots = list(search) if module or start is None else [start.parent]
    waiting, seen, found = [start] if start is not None else [], set[Path](), set[str]()
    while waiting and len(seen) < _MAX_FILES:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        tree = _parse(path)
        if tree is not None:
            found.update(_options_in(tree))
            waiting += _local_imports(tree, path, roots)
    return frozenset(found)


def find_module(name: str, search: Sequence[Path]) -> Path | None:
    """Returns the file of a module without importing its packages, or None."""
    relative = Path(*name.split(".")) if name.strip(".") else Path("__no_module__")
    for folder in search:
        for candidate in (folder / relative.with_suffix(".py"), folder / relative / "__main__.py"):
            if candidate.is_file():
                return candidate
    return None


def _parse(path: Path) -> ast.Module | None:
    try:
        if path.stat().st_size > _MAX_BYTES:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the script's own warnings appear when it runs
            return ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _options_in(tree: ast.Module) -> Iterator[str]:
    imported = {name.partition(".")[0] for name, _ in _imports(tree)}
    from_text = bool(imported & _OPTIONS_FROM_TEXT)
    from_names = bool(imported & _OPTIONS_FROM_NAMES)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if from_text or node.value.lstrip().startswith("-"):
                yield from _OPTION.findall(node.value)
        elif isinstance(node, ast.Call) and _called(node).startswith("DEFINE") and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield from _spellings(first.value)
        elif from_names and isinstance(node, ast.arg):
            yield from _spellings(node.arg)
        elif from_names and isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield from _spellings(node.target.id)


def _called(call: ast.Call) -> str:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _spellings(name: str) -> tuple[str, str]:
    return f"--{name}", f"--{name.replace('_', '-')}"


def _imports(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yields (dotted name, level of relative import) of everything that may be a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            yield base, node.level
            yield from ((f"{base}.{alias.name}".strip("."), node.level) for alias in node.names)


def _local_imports(tree: ast.Module, path: Path, roots: list[Path]) -> list[Path]:
    """Returns the files of imported modules that lie under the roots themselves, not in site-packages."""
    found: list[Path] = []
    for name, level in _imports(tree):
        folders = [path.parents[level - 1]] if 0 < level <= len(path.parents) else roots[:1]
        for folder in folders if name else ():
            relative = Path(*name.split("."))
            candidates = (folder / relative.with_suffix(".py"), folder / relative / "__init__.py")
            found += [candidate for candidate in candidates if candidate.is_file()]
    return found
