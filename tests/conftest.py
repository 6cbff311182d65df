"""What all tests share: the results behind docs/support.md."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

PARTS = ("feature", "strategy", "transport")
_CELLS = pytest.StashKey[dict[str, list[dict[str, str]]]]()
_OUTCOMES = pytest.StashKey[dict[str, str]]()

# A machine that trains on all its cores at the same time is slow, not wrong.
settings.register_profile("paceline", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("paceline")


def pytest_addoption(parser):
    parser.addoption("--support-json", metavar="FILE", help="write the results of tests marked `support` to FILE")
    parser.addoption("--every-gang", action="store_true", help="run every conformance case in every gang")
    parser.addoption("--over-ring", action="store_true", help="what tests run over MPI by default, run over RING")
    if importlib.util.find_spec("pytest_timeout") is None:
        parser.addini("timeout", "needs pytest-timeout, which is not installed here: tests have no limit")


def pytest_configure(config):
    config.stash[_CELLS] = {}
    config.stash[_OUTCOMES] = {}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Notes every cell that some test claims, also of tests that will be deselected: those are "never run"."""
    for item in items:
        for marker in item.iter_markers("support"):
            cell = dict(marker.kwargs)
            unknown = set(cell) - {*PARTS, "refused"}
            missing = set(PARTS) - set(cell)
            if marker.args or unknown or missing:
                msg = f"{item.nodeid}: support() wants {', '.join(PARTS)} and may have refused; got {marker}"
                raise pytest.UsageError(msg)
            if config.getoption("--over-ring") and cell["transport"] == "mpi":
                cell["transport"] = "ring"
            config.stash[_CELLS].setdefault(item.nodeid, []).append(cell)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    outcomes = item.config.stash[_OUTCOMES]
    if report.failed or (report.skipped and outcomes.get(item.nodeid) != "failed"):
        outcomes[item.nodeid] = "failed" if report.failed else "skipped"
    elif report.when == "call" and item.nodeid not in outcomes:
        outcomes[item.nodeid] = "passed"
    return report


def pytest_sessionfinish(session):
    target = session.config.getoption("--support-json")
    if not target:
        return
    outcomes = session.config.stash[_OUTCOMES]
    results = [
        {**cell, "test": nodeid, "outcome": outcomes.get(nodeid, "never run")}
        for nodeid, cells in sorted(session.config.stash[_CELLS].items())
        for cell in cells
    ]
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    Path(target).write_text(json.dumps({"schema": 1, "results": results}, indent=2) + "\n", encoding="utf-8")
