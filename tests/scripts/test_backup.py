"""BackupAndRestore: a second run goes on where the first was broken off."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(scope="module")
def runs(start, tmp_path_factory):
    whole = start("backup.py", workers=1).ok()
    folder = tmp_path_factory.mktemp("backup")
    broken = start("backup.py", "break", workers=2, folder=folder)
    return whole, broken, start("backup.py", workers=2, folder=folder).ok()


def test_an_exception_is_shown_once_with_exit_code_1(runs):
    _, broken, _ = runs
    assert broken.code == 1
    assert broken.text.count("RuntimeError: broken on purpose") == 1
    assert "backup.py" in broken.text


@pytest.mark.support(feature="BackupAndRestore", strategy="multi-worker", transport="mpi")
def test_the_second_run_goes_on(runs):
    whole, _, resumed = runs
    assert resumed.same("epochs") == [2, 3]
    resumed.same("digest")
    # float32 sums in another order
    np.testing.assert_allclose(resumed.facts[0]["weights"], whole.facts[0]["weights"], rtol=1e-5, atol=1e-6)
    assert not resumed.same("left")
