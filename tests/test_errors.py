import inspect
from pathlib import Path

import pytest

from paceline import errors

TREE = {
    "PacelineError": 70,
    "UsageError": 2,
    "ConfigurationRefused": 78,
    "ClusterError": 78,
    "VersionRefused": 78,
    "ScriptRefused": 78,
    "CheckpointDamaged": 78,
    "CheckpointNotWritten": 78,
    "LimitReached": 124,
    "TransportError": 70,
}


@pytest.mark.parametrize(("name", "exit_code"), TREE.items())
def test_each_error_has_the_exit_code_of_the_contract(name, exit_code):
    assert getattr(errors, name).exit_code == exit_code


def test_the_tree_in_the_docstring_names_every_class():
    classes = {n for n, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, errors.PacelineError)}
    assert classes == {*TREE, "WorkerFailed"}
    assert all(name in errors.__doc__ for name in classes)


def test_the_text_has_one_labelled_line_for_each_part_that_is_known():
    error = errors.ClusterError("no port", got="'a'", fix="a:2222")
    assert str(error).splitlines() == ["no port", "  got:      'a'", "  fix:      a:2222"]


def test_a_failed_worker_carries_its_own_exit_code():
    assert errors.WorkerFailed("rank 1 died", exit_code=137).exit_code == 137


def test_no_message_sends_a_person_to_an_index_where_paceline_may_not_be():
    files = Path(errors.__file__).parent.rglob("*.py")
    assert not [file for file in files if "install 'paceline" in file.read_text() or "paceline[" in file.read_text()]


def test_lines_of_a_part_stand_below_each_other():
    assert str(errors.PacelineError("It failed.", fix="one\ntwo")) == "It failed.\n  fix:      one\n            two"
