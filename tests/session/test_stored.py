import json

import pytest

from paceline.session.stored import StoredDecisions


def stored(path, told=None, writes=True):
    return StoredDecisions(path / "training.json", writes=writes, tell=(told if told is not None else []).append)


def test_a_later_attempt_decides_as_the_first_did(tmp_path):
    assert stored(tmp_path).decide("xla", True, "it helps") == (True, "it helps")
    value, reason = stored(tmp_path).decide("xla", False, "it does not")
    assert value is True
    assert reason == "it helps (as this run began)"


def test_within_an_attempt_the_last_word_counts(tmp_path):
    first = stored(tmp_path)
    first.decide("xla", False, "short")
    assert first.decide("xla", True, "long") == (True, "long")
    assert json.loads((tmp_path / "training.json").read_text())["decisions"]["xla"]["value"] is True


def test_only_the_chief_writes(tmp_path):
    stored(tmp_path, writes=False).decide("xla", True, "")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_gone_ends_no_training(tmp_path):
    told = []
    decisions = stored(tmp_path / "gone", told)
    assert decisions.decide("xla", True, "") == (True, "")
    assert "is not written" in told[0]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"schema": 99}', "its schema is 99, not 1"),
        (b"{", "it is damaged"),
        (b"[]", "it is damaged"),
        (b"null", "it is damaged"),
        (b"\xff", "it cannot be read"),
        (b"[" * 100_000, "it is damaged"),
        (b'{"schema": 1}', "it is damaged"),
        (b'{"schema": 1, "decisions": [1]}', "it is damaged"),
        (b'{"schema": 1, "decisions": {"xla": true}}', "it is damaged"),
        (b'{"schema": 1, "decisions": {"xla": {"value": true}}}', "it is damaged"),
    ],
)
def test_a_file_that_is_not_ours_is_ignored_and_said(tmp_path, content, reason):
    (tmp_path / "training.json").write_bytes(content)
    told = []
    assert stored(tmp_path, told).decide("xla", False, "") == (False, "")
    (line,) = told
    assert "training.json is ignored: " in line and reason in line
    assert json.loads((tmp_path / "training.json").read_text())["decisions"] == {"xla": {"value": False, "reason": ""}}


def test_a_folder_in_its_place_is_ignored_and_said(tmp_path):
    (tmp_path / "training.json").mkdir()
    told = []
    assert stored(tmp_path, told).decide("xla", False, "") == (False, "")
    assert "is ignored: it cannot be read" in told[0] and "is not written" in told[1]
