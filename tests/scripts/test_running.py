"""A script runs as `python` would run it: arguments, names, imports, processes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

#: Not of the versions of Keras: run on the newest tested ones only.

PROGRAMS = Path(__file__).resolve().parent / "programs"
ARGUMENTS = ["--rate", "0.5", "two words", 'quote\'s "both"', "größe=Ünï", "", "--workers-of-mine=3", "*"]


@pytest.fixture(scope="module")
def by_module(start):
    return start("pack.program", *ARGUMENTS, command=["-m", "pack.program"],
                 options=("--env", "EXTRA=a=b c"), python_path=PROGRAMS).ok()  # fmt: skip


@pytest.fixture(scope="module")
def by_path(start):
    return start("pack/program.py", *ARGUMENTS, python_path=PROGRAMS).ok()


@pytest.mark.support(feature="-m module", strategy="multi-worker", transport="mpi")
def test_a_module_with_relative_imports(by_module):
    assert by_module.same("package") == "pack"
    assert by_module.same("answer") == 42
    assert by_module.same("file") == str(PROGRAMS / "pack" / "program.py")
    assert by_module.same("argv") == [str(PROGRAMS / "pack" / "program.py"), *ARGUMENTS]
    assert by_module.same("flags") == [False, "a=b c"]


def test_a_path_with_imports_of_its_neighbours(by_path):
    assert not by_path.same("package")
    assert by_path.same("answer") == 42
    assert by_path.same("path0") == str(PROGRAMS / "pack")
    assert by_path.same("file") == by_path.same("argv")[0] == str(PROGRAMS / "pack" / "program.py")
    assert by_path.same("argv")[1:] == ARGUMENTS


@pytest.mark.parametrize("way", ["by_module", "by_path"])
def test_it_is_the_main_module(way, request):
    result = request.getfixturevalue(way)
    assert result.same("name") == "__main__"
    assert result.same("main")
    assert result.same("pickled") == 3
    assert result.same("cwd") == str(result.folder)
    assert result.same("thread_ended")
    result.same("digest")


@pytest.mark.support(feature="multiprocessing in the script", strategy="multi-worker", transport="mpi")
@pytest.mark.parametrize("way", ["by_module", "by_path"])
def test_processes_find_the_scripts_functions(way, request):
    assert request.getfixturevalue(way).same("processes") == [2, 4, 3]


@pytest.mark.support(feature="paceline.strategy()", strategy="multi-worker", transport="mpi")
@pytest.mark.support(feature="paceline.strategy()", strategy="one-device", transport="none")
@pytest.mark.support(feature="paceline.strategy()", strategy="mirrored", transport="in-process")
def test_the_same_script_under_python_and_under_run(start):
    plain = start("alone.py", plain=True).ok()
    two = start("alone.py", "scope", workers=2).ok()
    replicas = start(
        "alone.py", "scope", workers=1, options=("--strategy", "mirrored", "--replicas-per-worker", "2")
    ).ok()
    alone = plain.facts[0]
    assert alone["before"] == [0, 1, True]
    assert (alone["replicas"], alone["same"], alone["isinstance"], alone["task"]) == (1, True, True, 0)
    assert (alone["job"], alone["names"]) == ([], [])
    assert [worker["before"] for worker in two.facts] == [[0, 2, True], [1, 2, False]]
    assert two.same("replicas") == 2
    two.same("digest")
    assert replicas.facts[0]["replicas"] == 2
    for result in (two, replicas):
        # float32 sums in another order
        np.testing.assert_allclose(result.facts[0]["weights"], alone["weights"], rtol=1e-5, atol=1e-6)
