"""A script runs as `python` would run it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from paceline.errors import ConfigurationRefused
from paceline.session.script import run_script


@pytest.fixture(autouse=True)
def _restored(monkeypatch):
    """Puts back what running a script changes."""
    monkeypatch.setattr(sys, "argv", ["pytest"])
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


def script(tmp_path, text, *argv, name="train.py"):
    (tmp_path / name).write_text(text)
    return {"kind": "path", "target": str(tmp_path / name), "argv": list(argv)}


def test_it_is_main_and_has_its_arguments_and_neighbours(tmp_path):
    (tmp_path / "neighbour.py").write_text("VALUE = 5\n")
    text = (
        "import sys, neighbour\n"
        "assert __name__ == '__main__' and sys.modules['__main__'].__dict__ is globals()\n"
        "assert sys.argv[1:] == ['a b', '--x', 'ü'], sys.argv\n"
        "assert __file__ == sys.argv[0]\n"
        "sys.exit(neighbour.VALUE)\n"
    )
    assert run_script(script(tmp_path, text, "a b", "--x", "ü")) == 5


@pytest.mark.parametrize(
    ("end", "code"),
    [("", 0), ("raise SystemExit", 0), ("exit(0)", 0), ("exit(3)", 3), ("exit(300)", 44), ("exit('no')", 1)],
)
def test_exit_codes_are_pythons(tmp_path, end, code):
    assert run_script(script(tmp_path, "from sys import exit\n" + end + "\n")) == code


def test_what_it_raises_comes_through(tmp_path):
    with pytest.raises(ZeroDivisionError):
        run_script(script(tmp_path, "1 / 0\n"))


def test_a_coding_line_is_heard(tmp_path):
    (tmp_path / "latin.py").write_bytes(b"# -*- coding: latin-1 -*-\nassert len('\xe9') == 1\n")
    assert run_script({"kind": "path", "target": str(tmp_path / "latin.py"), "argv": []}) == 0


def test_a_script_that_is_gone_is_refused(tmp_path):
    with pytest.raises(ConfigurationRefused, match="cannot be read"):
        run_script({"kind": "path", "target": str(tmp_path / "gone.py"), "argv": []})


def test_a_module_runs_by_name(tmp_path):
    (tmp_path / "mod_for_test.py").write_text("import sys\nassert __name__ == '__main__'\nsys.exit(int(sys.argv[1]))\n")
    program = (
        "import sys; from paceline.session.script import run_script; "
        "sys.exit(run_script({'kind': 'module', 'target': 'mod_for_test', 'argv': ['9']}))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=False, timeout=60)
    assert done.returncode == 9
