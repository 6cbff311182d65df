import dataclasses
import subprocess
import sys

import numpy as np
import pytest

import paceline
from paceline.errors import UsageError
from paceline.step_options import COMMUNICATIONS, JITS, WIRES, StepOptions


def test_it_is_public_frozen_and_by_keyword():
    assert paceline.StepOptions is StepOptions
    assert "StepOptions" in dir(paceline)
    with pytest.raises(dataclasses.FrozenInstanceError):
        StepOptions().jit = "on"
    with pytest.raises(TypeError):
        StepOptions("mpi")


@pytest.mark.parametrize("name", ["communication", "wire_dtype", "jit"])
def test_every_word_is_taken(name):
    for word in {"communication": COMMUNICATIONS, "wire_dtype": WIRES, "jit": JITS}[name]:
        assert getattr(StepOptions(**{name: word}), name) == word


@pytest.mark.parametrize(
    "bad",
    [
        {"communication": "smoke"},
        {"wire_dtype": "float8"},
        {"jit": "maybe"},
        {"bucket_mb": -1.0},
        {"bucket_mb": float("inf")},
        {"bucket_mb": float("nan")},
        {"bucket_mb": 1e308},
        {"bucket_mb": 1e-7},
        {"bucket_mb": 10**400},
        {"bucket_mb": "25"},
        {"bucket_mb": None},
        {"bucket_mb": [25]},
        {"bucket_mb": True},
        {"jit": True},
        {"jit": ["on"]},
        {"wire_dtype": None},
        {"wire_dtype": np.dtype("float16")},
        {"jit": np.array(["on", "off"])},
    ],
    ids=lambda bad: str(bad)[:40],
)
def test_bad_values_are_refused_with_a_fix(bad):
    with pytest.raises(UsageError) as caught:
        StepOptions(**bad)
    assert caught.value.got
    assert caught.value.expected
    assert caught.value.fix


def test_a_bucket_in_bytes():
    assert (StepOptions().bucket_bytes, StepOptions(bucket_mb=0.5).bucket_bytes) == (0, 2**19)


def test_neither_tensorflow_nor_numpy_is_imported_for_it():
    code = (
        "import paceline, sys; paceline.StepOptions(jit='on'); sys.exit(bool({'tensorflow', 'numpy'} & {*sys.modules}))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
