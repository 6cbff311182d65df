"""A manifest says what belongs to a checkpoint; anything else is refused with the reason."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paceline.checkpoint_dir.manifest import FileFacts, Manifest, NewerSchema, decode, decode_run
from paceline.errors import CheckpointDamaged

FILE = "state-0-of-1.safetensors"
MANIFEST = Manifest(
    step=7,
    created=1.5,
    paceline="0.1.0",
    num_workers=2,
    files={FILE: FileFacts(bytes=3, sha256="0" * 64)},
    meta={"fit": 1},
)


def changed(**values):
    return json.dumps({**json.loads(MANIFEST.encode()), **values}).encode()


def test_what_was_written_is_read():
    assert decode(MANIFEST.encode(), "here") == MANIFEST
    assert MANIFEST.num_bytes == 3


def test_unknown_keys_are_ignored():
    assert decode(changed(later="yes"), "here") == MANIFEST


def test_a_newer_schema_is_named():
    with pytest.raises(NewerSchema, match="newer") as caught:
        decode(changed(schema=2, paceline="9.0"), "here")
    assert "9.0" in caught.value.got and "newer" in caught.value.fix


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b"{}",
        changed(step="x"),
        changed(step=-1),
        changed(step=True),
        changed(created=None),
        changed(files={}),
        changed(files=[]),
        changed(files={"../escape": {"bytes": 1, "sha256": "0" * 64}}),
        changed(files={FILE: {"bytes": 1, "sha256": "zz"}}),
        changed(files={FILE: {"bytes": 1}}),
        changed(meta=3),
        changed(schema="1"),
        MANIFEST.encode()[:-20],
    ],
)
def test_what_is_no_manifest_is_refused_by_name(content):
    with pytest.raises(CheckpointDamaged, match="here"):
        decode(content, "here")


@settings(max_examples=40)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda it: st.lists(it) | st.dictionaries(st.text(), it)
    )
)
def test_no_json_makes_it_fail_otherwise(value):
    for content in (json.dumps(value).encode(), changed(files=value, meta=value)):
        try:
            decode(content, "here")
        except CheckpointDamaged:
            pass


def test_run_json():
    assert decode_run(b'{"schema": 1, "seed": 3}', "here") == {"schema": 1, "seed": 3}
    with pytest.raises(NewerSchema):
        decode_run(b'{"schema": 2}', "here")
    with pytest.raises(CheckpointDamaged):
        decode_run(b'{"seed": 3}', "here")
