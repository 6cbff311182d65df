"""Makes the table importable and starts each gang once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from cases import TABLE
from gangs import GANGS, Run

#: Gangs of one process each that are started together: one by itself leaves a core idle.
TOGETHER = ({"plain", "one", "mirrored"},)


def pytest_collection_modifyitems(config, items):
    """Leaves the cases that a gang only runs for docs/support.md; they count as "never run" there until they are."""
    if config.getoption("--every-gang"):
        return
    left = [item for item in items if item.get_closest_marker("every_gang")]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not item.get_closest_marker("every_gang")]


class Gangs:
    """The runs of this session, started when a test first asks."""

    def __init__(self, wanted: dict[str, list[str]], folder: Path) -> None:
        self.wanted = wanted
        self.folder = folder
        self.runs: dict[str, Run] = {}

    def __getitem__(self, name: str) -> Run:
        if name not in self.runs:
            group = next((group for group in TOGETHER if name in group), {name})
            fresh = {
                gang.name: Run(gang, self.wanted[gang.name], self.folder / gang.name)
                for gang in GANGS
                if gang.name in group and self.wanted.get(gang.name)
            }
            self.runs |= {key: run.finish() for key, run in fresh.items()}
        return self.runs[name]


_GANGS = pytest.StashKey[Gangs]()


@pytest.fixture(scope="session")
def gangs(request, tmp_path_factory):
    wanted: dict[str, list[str]] = {}
    for item in request.session.items:
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        if "gang" in parameters and "case" in parameters:
            for gang in ("plain", "one", parameters["gang"].name):
                if gang == "one" and not parameters["case"].stock_is_wrong and parameters["gang"].name != "one":
                    continue
                names = wanted.setdefault(gang, [])
                if parameters["case"].name not in names:
                    names.append(parameters["case"].name)
    order = [case.name for case in TABLE]
    for names in wanted.values():
        names.sort(key=order.index)
    found = Gangs(wanted, tmp_path_factory.mktemp("gangs"))
    request.config.stash[_GANGS] = found
    return found


def pytest_terminal_summary(terminalreporter, config):
    found = config.stash.get(_GANGS, None)
    if found is None:
        return
    terminalreporter.section("conformance gangs")
    for name, run in found.runs.items():
        terminalreporter.write_line(f"{name:10} {len(run.names):4} cases {run.seconds:7.1f} s; files in {run.folder}")
