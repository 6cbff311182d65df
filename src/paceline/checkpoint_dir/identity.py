"""Is what lies in a checkpoint directory of the run that is about to start?"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

#: Options that change what is computed; the number of workers is none: everybody takes a part of the same batches.
_OPTIONS = {"wire_dtype": "--wire-dtype", "bucket_mb": "--bucket-mb", "jit": "--jit"}


def describe(
    *, kind: str, target: str, argv: Sequence[str], file: Path | None, seed: int, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns what tells a run from others, plain values for ``run.json``.

    Args:
        kind: ``path`` or ``module``.
        target: What was asked to be run.
        argv: Its arguments.
        file: Its file, where that is known.
        seed: Of the job.
        options: Of ``paceline run``, of which those count that change what is computed.
    """
    digest = None
    if file is not None:
        try:
            digest = hashlib.sha256(file.read_bytes()).hexdigest()
        except OSError:  # the worker that runs it will say so
            digest = None
    return {
        "script": {"kind": kind, "target": target, "sha256": digest, "argv": list(argv)},
        "seed": seed,
        "options": {name: options[name] for name in _OPTIONS if name in options},
    }


def differences(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Returns what is not the same in two runs, a line each; nothing: they are one.

    >>> one = describe(kind="path", target="a.py", argv=["--x", "1"], file=None, seed=1, options={"jit": "on"})
    >>> differences(one, {**one, "seed": 2})
    ['seed: 1 in the checkpoint directory, 2 now']
    """
    lines = []
    before, after = earlier.get("script", {}), now.get("script", {})
    if Path(str(before.get("target"))).name != Path(str(after.get("target"))).name:
        lines.append(_line("script", before.get("target"), after.get("target")))
    elif before.get("sha256") != after.get("sha256") and None not in (before.get("sha256"), after.get("sha256")):
        lines.append(f"script: {after.get('target')} has changed since (sha256 {before['sha256'][:12]}, now "
                     f"{after['sha256'][:12]})")  # fmt: skip
    if before.get("argv") != after.get("argv"):
        lines.append(_line("arguments", " ".join(before.get("argv", [])), " ".join(after.get("argv", []))))
    if earlier.get("seed") != now.get("seed"):
        lines.append(_line("seed", earlier.get("seed"), now.get("seed")))
    for name, option in _OPTIONS.items():
        one, other = earlier.get("options", {}).get(name), now.get("options", {}).get(name)
        if one != other:
            lines.append(_line(option, one, other))
    return lines


def _line(what: str, before: Any, after: Any) -> str:
    texts = ["none" if value in ("", None) else str(value) for value in (before, after)]
    return f"{what}: {texts[0]} in the checkpoint directory, {texts[1]} now"
