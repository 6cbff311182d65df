import json

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


def test_a_file_of_another_form_is_not_read(tmp_path):
    (tmp_path / "training.json").write_text('{"schema": 99}')
    assert stored(tmp_path).decide("xla", False, "") == (False, "")
