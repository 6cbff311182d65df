"""TensorFlow's start-up lines are dropped; anything else on stderr comes through."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os, sys
from paceline.session.quiet import without_noise
with without_noise():
    os.write(2, b"I0000 port.cc:153] oneDNN custom operations are on. You may see...\\n")
    os.write(2, b"something else\\n")
    print("from Python", file=sys.stderr)
print("after", file=sys.stderr)
"""

RAISING = PROGRAM.replace('print("from Python", file=sys.stderr)', "raise ImportError('libcudart')")


def stderr_of(program):
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, env=os.environ, timeout=60
    )
    return done.stderr


def test_noise_is_dropped_and_the_rest_kept():
    assert stderr_of(PROGRAM).splitlines() == ["something else", "from Python", "after"]


@pytest.mark.parametrize("line", ["something else", "ImportError: libcudart"])
def test_nothing_is_lost_when_the_import_fails(line):
    assert line in stderr_of(RAISING).splitlines()
