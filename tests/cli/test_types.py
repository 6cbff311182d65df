import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.cli.types import parse_duration_s


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("300", 300),
        ("300s", 300),
        ("5m", 300),
        ("0.5", 0.5),
        ("1h", 3600),
        ("1m30s", 90),
        ("500ms", 0.5),
        (" 5M ", 300),
    ],
)
def test_durations(text, seconds):
    assert parse_duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-5", "5 m", "5d", "m", "1e3", "inf", "nan", "5m30"])
def test_what_is_no_duration(text):
    assert parse_duration_s(text) is None


@given(st.text())
def test_any_text(text):
    seconds = parse_duration_s(text)
    assert seconds is None or seconds >= 0
