import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.cluster.positions import line_and_column, path_text, read

ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def value_at(value, path):
    for step in path:
        value = value[step]
    return value


@given(ANY_JSON, st.none() | st.integers(0, 4), st.booleans())
def test_each_offset_is_where_the_value_of_that_path_begins(value, indent, ascii_only):
    text = "\n " + json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    document = read(text)
    assert document.repeated == ()
    for path, offset in document.offsets.items():
        decoded, _ = json.JSONDecoder().raw_decode(text, offset)
        assert decoded == value_at(document.value, path)


def test_lines_and_columns_are_counted_from_one():
    document = read('{\n  "cluster": {"worker": ["a", "b"]}\n}')
    assert document.where(("cluster", "worker", 1)) == "cluster.worker[1] (line 2, column 31)"


def test_what_is_missing_is_placed_at_its_parent():
    assert read('{"a": {}}').where(("a", "b", "c")) == "a.b.c (line 1, column 7)"


@pytest.mark.parametrize(
    ("text", "repeated"),
    [('{"a": 1, "a": 2}', [("a",)]), ('{"a": {"b": 1}, "a": {"b": 1}}', [("a",)]), ('[{"a": 1}, {"a": 1}]', [])],
)
def test_a_key_that_is_given_twice_is_seen(text, repeated):
    assert list(read(text).repeated) == repeated


def test_names_of_paths():
    assert path_text(()) == ""
    assert path_text((0, "a b", "c")) == '[0]["a b"].c'


def test_position_of_the_first_character():
    assert line_and_column("x", 0) == "line 1, column 1"
