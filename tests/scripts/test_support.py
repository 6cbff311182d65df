import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "support.py"


@pytest.fixture(scope="module")
def support():
    spec = importlib.util.spec_from_file_location("support_script", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def result(support, outcome, feature="fit", column=("multi-worker", "mpi"), refused=""):
    return support.Result(cell=(feature, *column), outcome=outcome, refused=refused)


@pytest.mark.parametrize(
    ("outcomes", "word"),
    [
        ([], "never run"),
        (["skipped", "never run"], "never run"),
        (["passed"], "works"),
        (["passed", "skipped"], "works"),
        (["passed", "failed"], "fails"),
    ],
)
def test_the_word_for_a_cell(support, outcomes, word):
    assert support.verdict([result(support, outcome) for outcome in outcomes]) == (word, "")


def test_a_refusal_has_its_reason_below_the_table(support):
    text = support.render([result(support, "passed", refused="no | sum"), result(support, "passed", feature="other")])
    assert "| fit |" in text
    assert "refused (1)" in text
    assert "1. no \\| sum" in text


def test_what_works_and_is_refused_is_a_fault_of_the_tests(support):
    with pytest.raises(ValueError, match="both works and is refused"):
        support.verdict([result(support, "passed"), result(support, "passed", refused="no")])


def test_no_cell_is_empty(support):
    text = support.render([result(support, "passed", column=("mirrored", "in-process")), result(support, "failed")])
    rows = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("|") and "---" not in line]
    assert len(rows) == 2
    assert {len(row) for row in rows} == {len(support.COLUMNS) + 1}
    assert all(cell.strip() for row in rows for cell in row)


def test_features_of_several_processes_have_a_table_of_their_own(support):
    text = support.render([result(support, "passed", column=("one-device", "none")), result(support, "passed", "job")])
    training, jobs = text.split("## Jobs of several processes")
    assert "one-device" in training and "| fit |" in training and "| job |" not in training
    assert "one-device" not in jobs and "| job |" in jobs


def test_an_unknown_column_is_refused(support):
    row = {"feature": "fit", "strategy": "mirrored", "transport": "pigeon", "outcome": "passed", "test": "t"}
    with pytest.raises(ValueError, match="pigeon"):
        support.parse({"schema": 1, "results": [row]})


TESTS = """
import pytest

@pytest.mark.support(feature="fit", strategy="multi-worker", transport="mpi")
@pytest.mark.support(feature="fit", strategy="multi-worker", transport="ring")
def test_works(): pass

@pytest.mark.support(feature="predict", strategy="multi-worker", transport="mpi")
def test_fails(): assert False

@pytest.mark.support(feature="predict", strategy="multi-worker", transport="ring")
def test_skipped(): pytest.skip("no")

@pytest.mark.support(feature="bare loop", strategy="multi-worker", transport="mpi", refused="never reduces")
def test_refused(): pass

@pytest.mark.support(feature="export", strategy="multi-worker", transport="mpi")
def test_deselected(): pass
"""


def test_from_marked_tests_to_the_table(tmp_path):
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = support\n")
    (tmp_path / "test_marked.py").write_text(TESTS)
    tests = [sys.executable, "-m", "pytest", "-q", "-k", "not deselected", "--support-json", "out/s.json", "-p"]
    done = subprocess.run([*tests, "no:cacheprovider"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout
    outcomes = {
        row["test"].split("::")[1]: row["outcome"]
        for row in json.loads((tmp_path / "out/s.json").read_text())["results"]
    }
    assert outcomes == {
        "test_works": "passed",
        "test_fails": "failed",
        "test_skipped": "skipped",
        "test_refused": "passed",
        "test_deselected": "never run",
    }
    command = [sys.executable, str(SCRIPT), "out/s.json", "support.md"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    table = (tmp_path / "support.md").read_text()
    cells = {
        row[0].strip(): [c.strip() for c in row[1:]] for line in table.splitlines() if (row := line.split("|")[1:-1])
    }
    assert cells["fit"][:3] == ["works", "works", "never run"]
    assert cells["predict"][:2] == ["fails", "never run"]
    assert cells["bare loop"][0] == "refused (1)"
    assert cells["export"][0] == "never run"


def test_a_marker_that_lacks_a_part_stops_the_run(tmp_path):
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = support\n")
    (tmp_path / "test_marked.py").write_text("import pytest\n@pytest.mark.support(feature='fit')\ndef test_a(): pass\n")
    done = subprocess.run([sys.executable, "-m", "pytest"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 4
    assert "support() wants feature, strategy, transport" in done.stderr + done.stdout
