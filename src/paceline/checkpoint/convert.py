"""A checkpoint as a file that others read."""

from __future__ import annotations

import io
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from paceline.checkpoint.folder import read_manifest, read_tensors
from paceline.checkpoint.places import place_of
from paceline.checkpoint.tensors import encode
from paceline.checkpoint_dir.formats import KERAS_SUFFIXES, MODEL_PREFIX, OPTIMIZER_PREFIX, is_weights_only, suffix_of
from paceline.checkpoint_dir.manifest import Manifest
from paceline.errors import CheckpointNotWritten

# What `numpy.load` gives back as it was; the others become float32, which holds each of their values.
_OF_NUMPY = "biufc"


@dataclass(frozen=True, kw_only=True, slots=True)
class Converted:
    """What was written.

    Attributes:
        path: The file.
        num_bytes: Its size.
        num_tensors: How many there are in it.
        notes: What differs from the checkpoint, a sentence each.
    """

    path: str
    num_bytes: int
    num_tensors: int
    notes: list[str] = field(default_factory=list)


def convert(root: str, name: str, out: str, script: Mapping[str, Any] | None = None) -> Converted:
    """Writes a checkpoint as one file, which appears when it is whole.

    Args:
        root: The checkpoint directory.
        name: The checkpoint's folder in it.
        out: The file; its suffix says the form.
        script: `path` and `argv` of the script that makes the model.

    Raises:
        CheckpointDamaged: The checkpoint is not what was written.
        ConfigurationRefused: The model cannot be made, or is another one.
        CheckpointNotWritten: The file cannot be written.
    """
    place = place_of(root)
    manifest = read_manifest(place, name)
    tensors = read_tensors(place, name, manifest)
    notes: list[str] = []
    if suffix_of(out) in KERAS_SUFFIXES:
        num_tensors, write = _keras(manifest, tensors, out, script, notes)
    else:
        if is_weights_only(out):
            tensors = own(tensors, MODEL_PREFIX)
        num_tensors, write = len(tensors), _arrays(tensors, out, notes)
    try:
        num_bytes = _write_whole(out, write)
    except OSError as error:
        raise CheckpointNotWritten(
            "The file cannot be written.", got=f"{out}: {error.strerror or error}", fix="name a file in another folder"
        ) from error
    return Converted(path=out, num_bytes=num_bytes, num_tensors=num_tensors, notes=notes)


def own(tensors: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """Returns the tensors whose names begin so, without that beginning."""
    return {name.removeprefix(prefix): array for name, array in tensors.items() if name.startswith(prefix)}


def _arrays(tensors: dict[str, np.ndarray], out: str, notes: list[str]) -> Callable[[str], None]:
    if suffix_of(out).endswith(".safetensors"):
        return lambda path: _write_pieces(path, encode(tensors))
    widened = sorted(name for name, array in tensors.items() if not _is_numpys(array))
    if widened:
        notes.append(f"float32 instead of what NumPy's files have no name for: {', '.join(widened)}")
    arrays = {name: array if _is_numpys(array) else array.astype(np.float32) for name, array in tensors.items()}
    return lambda path: _write_npz(path, arrays)


def _is_numpys(array: np.ndarray) -> bool:
    return array.dtype.kind in _OF_NUMPY and array.dtype.isbuiltin == 1


def _write_pieces(path: str, pieces: list[memoryview]) -> None:
    with open(path, "wb") as file:
        file.writelines(pieces)


def _write_npz(path: str, arrays: dict[str, np.ndarray]) -> None:
    # Not `numpy.savez(**arrays)`: a tensor may be named `file`, as its parameter is.
    import zipfile

    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.save(content, array, allow_pickle=False)
            archive.writestr(f"{name}.npy", content.getbuffer())


def _keras(
    manifest: Manifest,
    tensors: Mapping[str, np.ndarray],
    out: str,
    script: Mapping[str, Any] | None,
    notes: list[str],
) -> tuple[int, Callable[[str], None]]:
    """Returns how many variables are set, and what writes the model."""
    from paceline.checkpoint import of_model

    model = of_model.make(manifest.meta, script)
    wanted = own(tensors, MODEL_PREFIX)
    paths = of_model.assign(model, wanted)
    num_tensors = len(wanted)
    if out.endswith(".weights.h5"):
        return num_tensors, model.save_weights
    optimizer = own(tensors, OPTIMIZER_PREFIX)
    if optimizer and of_model.assign_optimizer(model, optimizer, paths):
        num_tensors += len(optimizer)
    else:
        notes.append("the state of the optimizer is not in it")
    return num_tensors, model.save


def _write_whole(out: str, write: Callable[[str], None]) -> int:
    """Writes a file under another name, then renames it; returns its size."""
    folder, own_name = os.path.split(os.path.abspath(out))
    # The suffix stays: Keras looks at it.
    temporary = os.path.join(folder, f".tmp-{secrets.token_hex(4)}{suffix_of(own_name)}")
    try:
        write(temporary)
        os.replace(temporary, out)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
    return os.path.getsize(out)
