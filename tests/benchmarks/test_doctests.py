"""Examples in the docstrings of the benchmarks."""

import doctest
import importlib

import pytest


@pytest.mark.parametrize("name", ["contest", "machine", "memory", "report", "spread", "sweep"])
def test_examples(name):
    result = doctest.testmod(importlib.import_module(f"benchmarks.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
