"""``paceline cluster check``: find what is wrong with a TF_CONFIG."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import click

from paceline.cluster.tf_config import VARIABLE, Examination, examine
from paceline.errors import EXIT_REFUSED, UsageError


@click.command()
@click.argument("text", metavar="[JSON | @FILE | -]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(text: str | None, *, as_json: bool) -> int:
    """Find what is wrong with a TF_CONFIG.

    The TF_CONFIG is the argument, a file (@FILE), standard input (-), or by default the variable of that name.
    Ends with 78 where an error was found, else with 0.
    """
    content, source, is_python = _content(text)
    examination = examine(content, source=source, python_is_error=not is_python)
    if as_json:
        click.echo(json.dumps(_as_dict(examination), indent=2))
    else:
        click.echo(_as_text(examination, source))
    return EXIT_REFUSED if examination.errors else 0


def _content(text: str | None) -> tuple[str | bytes, str, bool]:
    """Returns the text to check, where it came from, and whether it is a Python file."""
    if text is None:
        if VARIABLE not in os.environ:
            what = "there is nothing to check: TF_CONFIG is not set"
            fix = """paceline cluster check '{"cluster": {"worker": ["HOST:PORT"]}, "task": {...}}'"""
            raise UsageError(what, expected="JSON, @FILE, -, or the variable TF_CONFIG", fix=fix)
        return os.environ[VARIABLE], VARIABLE, False
    if text == "-":
        return sys.stdin.buffer.read(), "standard input", False
    if text.startswith("@"):
        path = Path(text[1:])
        try:
            return path.read_bytes(), str(path), path.suffix == ".py"
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise UsageError("the file cannot be read", got=f"{path} ({reason})", expected="@FILE") from error
    return text, "the argument", False


def _as_dict(examination: Examination) -> dict[str, object]:
    return {
        "ok": not examination.errors,
        "findings": [finding.as_dict() for finding in examination.findings],
        "cluster": None if examination.spec is None else examination.spec.as_dict(),
    }


def _as_text(examination: Examination, source: str) -> str:
    counts = {name: sum(f.severity == name for f in examination.findings) for name in ("error", "warning")}
    words = [f"{count} {name}{'' if count == 1 else 's'}" for name, count in counts.items() if count]
    verdict = f"{source}: {', '.join(words) or 'ok'}"
    return "\n".join([*(finding.render() for finding in examination.findings), verdict])
