"""``paceline checkpoint convert``: a checkpoint as a file that others read."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from paceline.checkpoint_dir.examine import Depth
from paceline.checkpoint_dir.formats import ARRAY_SUFFIXES, KERAS_SUFFIXES, suffix_of
from paceline.checkpoint_dir.target import target_of
from paceline.cli.checkpoint_text import chosen, look, size
from paceline.errors import CheckpointDamaged, ConfigurationRefused, UsageError


@click.command()
@click.argument("path", metavar="DIR[/CHECKPOINT]")
@click.argument("out", metavar="OUT")
@click.option("--script", metavar="FILE", help="The script that makes the model, for .keras and .weights.h5.")
@click.option("--force", is_flag=True, help="Replace OUT.")
def command(path: str, out: str, script: str | None, *, force: bool) -> None:
    """Write a checkpoint as a file that others read; of a directory the newest complete one.

    \b
    OUT.npz, OUT.safetensors                  all tensors
    OUT.weights.npz, OUT.weights.safetensors  the model's variables, under Keras' own paths
    OUT.weights.h5, OUT.keras                 what Keras loads; needs the model

    The model is what the checkpoint says of it, or what the script of --script makes: it is run, with the arguments
    of the job, up to the fit that the checkpoint is of.
    """  # noqa: D301 - \b is click's
    _check_out(out, force=force)
    target = target_of(path)
    found = look(target, Depth.SIZES)
    entry = chosen(target, found)
    if not entry.is_good:
        raise CheckpointDamaged(f"The checkpoint is {entry.state}.", got=f"{found.root}/{entry.name}: {entry.fault}")
    from paceline.cli.checkpoint_remote import ask_hot

    question = {"do": "convert", "root": found.root, "name": entry.name, "out": str(Path(out).absolute())}
    value = ask_hot({**question, "script": None if script is None else _script(script, found.run)})
    if "fault" in value:
        raise ConfigurationRefused("The checkpoint cannot be converted.", got=value["fault"])
    for note in value["notes"]:
        click.echo(f"paceline: {note}", err=True)
    click.echo(f"{entry.name}: {value['num_tensors']} tensors, {size(value['num_bytes'])}, in {out}")


def _check_out(out: str, *, force: bool) -> None:
    if not suffix_of(out):
        raise UsageError(
            "The form of the file is not known.", got=out, expected=", ".join((*ARRAY_SUFFIXES, *KERAS_SUFFIXES))
        )
    folder = Path(out).absolute().parent
    if not folder.is_dir():
        raise ConfigurationRefused("The folder of the file does not exist.", got=out, fix=f"mkdir -p {folder}")
    if Path(out).exists() and not force:
        raise ConfigurationRefused("The file exists already.", got=out, fix="--force replaces it")


def _script(path: str, run: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns the script and the arguments that the job gave it."""
    if not Path(path).is_file():
        raise ConfigurationRefused("The script does not exist.", got=path, fix=f"ls {shlex.quote(path)}")
    known = (run or {}).get("script")
    argv = known.get("argv") if isinstance(known, dict) else None
    return {"path": path, "argv": [str(word) for word in argv] if isinstance(argv, list) else []}
