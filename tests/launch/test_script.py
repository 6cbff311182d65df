"""A script that cannot run is refused in words."""

import os

import pytest

from paceline.errors import ConfigurationRefused
from paceline.launch.script import check_script


def refused(tmp_path, target, *, module=False):
    with pytest.raises(ConfigurationRefused) as error:
        check_script(target, module=module, cwd=tmp_path)
    return str(error.value)


def test_what_can_run_passes(tmp_path):
    (tmp_path / "train.py").touch()
    (tmp_path / "no_suffix").touch()
    (tmp_path / "package").mkdir()
    (tmp_path / "package/__init__.py").touch()
    for target in ("train.py", str(tmp_path / "train.py"), "no_suffix"):
        check_script(target, module=False, cwd=tmp_path)
    for name in ("package", "package.part", "json.tool"):
        check_script(name, module=True, cwd=tmp_path)


def test_near_names_are_offered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs/train_mnist.py").touch()
    assert "did you mean jobs/train_mnist.py?" in refused(tmp_path, "jobs/train_minst.py")
    assert "did you mean" not in refused(tmp_path, "other/nothing_like_it.py")


def test_what_is_no_script(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/main.py").touch()
    (tmp_path / "book.ipynb").touch()
    assert "main.py" in refused(tmp_path, "folder")
    assert "nbconvert" in refused(tmp_path, "book.ipynb")
    assert "paceline run train.py" in refused(tmp_path, "train.py", module=True)
    assert "no such module" in refused(tmp_path, "no_such_module_here", module=True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable(tmp_path):
    (tmp_path / "train.py").touch(mode=0)
    assert "cannot be read" in refused(tmp_path, "train.py")
