"""Which checkpoint directory, and which checkpoint in it, a person's path means."""

from __future__ import annotations

import os
import posixpath
from dataclasses import dataclass

from paceline.checkpoint_dir.layout import FITS, fit_name, fit_of, is_remote, step_name, step_of
from paceline.errors import ConfigurationRefused

RUN_SUBDIR = "checkpoints"
"""Where a run directory has its checkpoints."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """What a path means.

    Attributes:
        root: The checkpoint directory.
        name: One folder in it; empty: all.
    """

    root: str
    name: str = ""

    @property
    def is_remote(self) -> bool:
        """Whether only TensorFlow can read it."""
        return is_remote(self.root)


def target_of(text: str) -> Target:
    """Returns what a path means: a checkpoint directory, a checkpoint in one, or a run directory that holds one.

    Args:
        text: The path, as a person gave it.

    Raises:
        ConfigurationRefused: There is no such directory, or it cannot be entered.

    >>> target_of("gs://bucket/run/step-000000001200")
    Target(root='gs://bucket/run', name='step-000000001200')
    """
    text = text.removeprefix("file://")
    if is_remote(text):
        return _split(text.rstrip("/"))
    path = os.path.abspath(text)
    try:
        mode_is_folder = os.path.isdir(path)
        if not mode_is_folder:
            os.stat(path)
    except OSError as error:
        raise _refused(text, path, error) from error
    if not mode_is_folder:
        raise ConfigurationRefused(
            "A checkpoint is a directory.", got=f"{text} is a file", fix=f"paceline checkpoint ls {_above(path)}"
        )
    target = _split(path)
    inner = os.path.join(path, RUN_SUBDIR)
    if not target.name and os.path.isfile(os.path.join(path, "plan.json")) and os.path.isdir(inner):
        return Target(root=inner)
    return target


def _split(path: str) -> Target:
    parent, own = posixpath.split(path)
    step, fit = step_of(own), fit_of(own)
    if step is not None:
        return Target(root=parent, name=step_name(step))
    if fit is not None and posixpath.basename(parent) == FITS:
        return Target(root=posixpath.dirname(parent), name=fit_name(fit))
    return Target(root=path)


def _above(path: str) -> str:
    """Returns the checkpoint directory that a file probably lies in."""
    return _split(os.path.dirname(path)).root


def _refused(text: str, path: str, error: OSError) -> ConfigurationRefused:
    if not isinstance(error, FileNotFoundError):
        return ConfigurationRefused("The checkpoint directory cannot be read.", got=f"{text}: {error.strerror}")
    there = path
    while not os.path.isdir(there):
        there = os.path.dirname(there)
    return ConfigurationRefused(
        "There is no such checkpoint directory.",
        got=text,
        expected="what --checkpoint-dir named, or a run directory",
        fix=f"ls {there}",
    )
