"""Which versions of Python, TensorFlow and Keras go together: tested, likely, or known to be wrong.

Nothing is imported to find out: installed versions are read from package metadata.

::

    tested     a pair that our own tests run on
    likely     not run by us, nothing known against it: a warning
    refused    known to be wrong, or known not to work: exit code 78
"""

from __future__ import annotations

import importlib.metadata
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from paceline.errors import VersionRefused

Version = tuple[int, ...]

TENSORFLOW_DISTRIBUTIONS = (
    "tensorflow",
    "tensorflow-cpu",
    "tensorflow-gpu",
    "tensorflow-intel",
    "tensorflow-macos",
    "tensorflow-rocm",
    "tensorflow-tpu",
    "tensorflow-aarch64",
    "tensorflow-cpu-aws",
    "intel-tensorflow",
    "tf-nightly",
    "tf-nightly-cpu",
    "tf-nightly-gpu",
)
"""Every name under which ``import tensorflow`` can have been installed."""

TESTED: tuple[tuple[tuple[Version, ...], Version, Version], ...] = (
    (((3, 10),), (2, 19), (3, 10)),
    (((3, 10),), (2, 21), (3, 12)),
    (((3, 11), (3, 12), (3, 13)), (2, 21), (3, 15)),
)
"""(Pythons, TensorFlow, Keras) that tests run on."""

OLDEST_PYTHON: Version = (3, 10)
OLDEST_TENSORFLOW: Version = (2, 19)
OLDEST_KERAS: Version = (3, 10)

_PIN = "pip install 'keras>=3.10,<3.16'"
_LEGACY_VALUES = frozenset({"1", "true"})  # Source: TensorFlow 2.21, tensorflow/python/util/lazy_loader.py


@dataclass(frozen=True, kw_only=True, slots=True)
class Installed:
    """What is installed, as far as metadata tell.

    Attributes:
        python: Version of this Python.
        tensorflow: Version of TensorFlow, or None.
        keras: Version of Keras, or None.
        distributions: Every TensorFlow distribution that is installed, with its version.
    """

    python: str
    tensorflow: str | None
    keras: str | None
    distributions: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What is known about a combination of versions.

    Attributes:
        kind: ``tested``, ``likely`` or ``refused``.
        reason: One sentence.
        fix: One line to paste, or an empty string.
    """

    kind: Literal["tested", "likely", "refused"]
    reason: str
    fix: str = ""

    def raise_if_refused(self, got: str = "") -> None:
        """Raises VersionRefused for a combination that is known to be wrong.

        Args:
            got: The versions, for the text of the error.
        """
        if self.kind == "refused":
            raise VersionRefused(self.reason, got=got, expected=tested_text(), fix=self.fix)


def parse(version: str) -> Version:
    """Returns the leading numbers of a version; what follows them does not matter here.

    >>> parse("3.15.1"), parse("2.22.0-dev20261101"), parse("2.21.0rc1"), parse("unknown")
    ((3, 15, 1), (2, 22, 0), (2, 21, 0), ())
    """
    match = re.match(r"[0-9]{1,6}(\.[0-9]{1,6})*", version.strip())
    return tuple(int(part) for part in match.group().split(".")) if match else ()


def tested_text() -> str:
    """Returns the tested combinations for a person."""
    rows = []
    for pythons, tensorflow, keras in TESTED:
        python = _text(pythons[0]) if len(pythons) == 1 else f"{_text(pythons[0])}-{_text(pythons[-1])}"
        rows.append(f"Python {python} with TensorFlow {_text(tensorflow)} and Keras {_text(keras)}")
    return "; ".join(rows)


def judge(
    *, python: str, tensorflow: str | None, keras: str | None, environ: Mapping[str, str], platform: str
) -> Verdict:
    """Returns what is known about a combination. Pure.

    Args:
        python: Version of Python.
        tensorflow: Version of TensorFlow, or None where it is not installed.
        keras: Version of Keras, or None where it is not installed.
        environ: Variables that choose between Keras' variants.
        platform: ``sys.platform``.
    """
    refusal = (
        _refuse_platform(platform, parse(python))
        or refuse_environment(environ)
        or _refuse_tensorflow(tensorflow)
        or _refuse_keras(keras)
    )
    if refusal is not None:
        return refusal
    pythons_of = {(tf, k): pythons for pythons, tf, k in TESTED}
    pair = (parse(tensorflow or "")[:2], parse(keras or "")[:2])
    pythons = pythons_of.get(pair, ())
    if parse(python)[:2] in pythons and platform == "linux":
        return Verdict(kind="tested", reason="this combination is tested")
    versions = f"Python {python}, TensorFlow {tensorflow}, Keras {keras} on {platform}"
    reason = f"{versions} is likely to work; our tests do not run on it"
    return Verdict(kind="likely", reason=reason, fix=f"tested: {tested_text()}")


def installed() -> Installed:
    """Returns what is installed beside this Python, without importing it."""
    distributions = {name: found for name in TENSORFLOW_DISTRIBUTIONS if (found := _version_of(name)) is not None}
    return Installed(
        python=".".join(str(part) for part in sys.version_info[:3]),
        tensorflow=next(iter(distributions.values()), None),
        keras=_version_of("keras") or _version_of("keras-nightly"),
        distributions=distributions,
    )


def judge_installed(environ: Mapping[str, str], found: Installed | None = None) -> Verdict:
    """Returns what is known about the versions that are installed here."""
    here = installed() if found is None else found
    return judge(
        python=here.python, tensorflow=here.tensorflow, keras=here.keras, environ=environ, platform=sys.platform
    )


def _text(version: Version) -> str:
    return ".".join(str(part) for part in version)


def _version_of(distribution: str) -> str | None:
    try:
        # Broken metadata without a version give None, whatever the stubs say.
        return importlib.metadata.version(distribution) or None
    except importlib.metadata.PackageNotFoundError:
        return None


def _refused(reason: str, fix: str = "") -> Verdict:
    return Verdict(kind="refused", reason=reason, fix=fix)


def _refuse_platform(platform: str, python: Version) -> Verdict | None:
    if platform.startswith(("win", "cygwin")):
        return _refused("paceline does not run on Windows itself", "use Linux, or WSL2 on Windows")
    if python[:2] < OLDEST_PYTHON:
        return _refused(f"Python {_text(python)} is older than 3.10", "make an environment with Python 3.10 to 3.13")
    return None


def refuse_environment(environ: Mapping[str, str]) -> Verdict | None:
    """Returns why an environment asks for a Keras that paceline does not train; None: it does not."""
    if environ.get("TF_USE_LEGACY_KERAS", "").strip().lower() in _LEGACY_VALUES:
        reason = "TF_USE_LEGACY_KERAS asks for tf_keras (Keras 2), which paceline does not train"
        return _refused(reason, "unset TF_USE_LEGACY_KERAS")
    backend = environ.get("KERAS_BACKEND", "").strip()
    if backend and backend != "tensorflow":
        return _refused(
            f"KERAS_BACKEND asks for {backend!r}; paceline trains TensorFlow's", "export KERAS_BACKEND=tensorflow"
        )
    return None


def _refuse_tensorflow(version: str | None) -> Verdict | None:
    if version is None:
        fix = f"{_PIN} 'tensorflow-cpu>=2.19,<2.22', or 'tensorflow[and-cuda]>=2.19,<2.22' for GPUs"
        return _refused("TensorFlow is not installed in this Python", fix)
    if parse(version)[:2] < OLDEST_TENSORFLOW:
        return _refused(f"TensorFlow {version} is older than 2.19", "pip install 'tensorflow>=2.19,<2.22'")
    return None


def _refuse_keras(version: str | None) -> Verdict | None:
    if version is None:
        return _refused("Keras is not installed in this Python", _PIN)
    number = parse(version)
    if number < (3,):
        return _refused(f"Keras {version} is legacy Keras; paceline trains Keras 3", _PIN)
    if (3, 7) <= number < (3, 10):
        reason = (
            f"Keras {version} is wrong under a strategy: metrics are summed over replicas at each update, up to NaN"
        )
        return _refused(f"{reason} (keras-team/keras#21061, mended in 3.10)", _PIN)
    if number < OLDEST_KERAS:
        reason = (
            f"Keras {version} scales losses wrongly under a strategy (keras-team/keras#19891) and is older than 3.10"
        )
        return _refused(reason, _PIN)
    return None
