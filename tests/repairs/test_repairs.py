"""Each repair is needed: its witness still finds the fault in the stock versions installed here.

When a test fails because a witness returns False, upstream has mended that fault: give
the repair its last version, and take it out once no supported version has the fault.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import metadata

import pytest

from paceline.repairs.registry import NAMES, load


def run_module(*arguments: str) -> str:
    """Returns what `python -m paceline.repairs` prints, in a process of its own."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "KERAS_BACKEND": "tensorflow"}
    result = subprocess.run(
        [sys.executable, "-m", "paceline.repairs", *arguments],
        capture_output=True,
        text=True,
        timeout=240,
        env=environment,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return result.stdout


@pytest.fixture(scope="module")
def verdicts() -> dict[str, bool]:
    """What every witness found, all in one process."""
    found: dict[str, bool] = json.loads(run_module("--witness", *NAMES).splitlines()[-1])
    return found


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", NAMES)
def test_upstream_still_has_the_fault(name: str, verdicts: dict[str, bool]) -> None:
    assert load(name).applies(metadata.version("keras"))
    assert verdicts[name] is True


def test_the_list_names_each_repair_with_its_thread() -> None:
    rows = json.loads(run_module("--json"))
    assert [row["name"] for row in rows] == list(NAMES)
    assert all(row["active"] is True and row["thread"] and row["title"] for row in rows)


@pytest.mark.parametrize(("version", "expected"), [("3.4.1", False), ("3.5.0", True), ("3.15.1", True)])
def test_a_repair_knows_its_versions(version: str, expected: bool) -> None:
    assert load("clip_before_aggregation").applies(version) is expected
