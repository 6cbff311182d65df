"""Every example in a docstring of a cold room is executed."""

import doctest
import importlib
import pkgutil

import pytest

import paceline

ROOMS = (
    "checkpoint_dir",
    "cli",
    "cluster",
    "doctor",
    "explain",
    "failures",
    "journal",
    "launch",
    "worker",
)  # walking over all would import hot rooms
MODULES = [
    "paceline.errors",
    "paceline.session.calls",
    "paceline.session.chosen",
    "paceline.step_options",
    "paceline.versions",
] + [
    module.name
    for room in ROOMS
    for module in pkgutil.walk_packages([f"{paceline.__path__[0]}/{room}"], f"paceline.{room}.")
    if not module.name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_examples_are_found_at_all():
    assert sum(doctest.testmod(importlib.import_module(name)).attempted for name in MODULES) > 5
