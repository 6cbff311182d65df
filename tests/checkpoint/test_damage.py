"""Whatever byte is lost or turned, a checkpoint is refused by name: it is never read as something else."""

import os
import shutil

import pytest

from paceline.checkpoint.store import CheckpointStore
from paceline.checkpoint_dir.examine import Depth, examine
from paceline.checkpoint_dir.layout import MANIFEST
from paceline.checkpoint_dir.reader import LocalReader
from paceline.errors import CheckpointDamaged

STATE = "state-0-of-1.safetensors"


@pytest.fixture(scope="module")
def good(tmp_path_factory, small):
    path = tmp_path_factory.mktemp("good")
    store = CheckpointStore(path)
    store.write(1, small, {})
    store.write(2, small, {"k": 1})
    return path


@pytest.fixture
def copy(good, tmp_path):
    path = tmp_path / "copy"
    shutil.copytree(good, path)
    return path


def state_of(path, step=2, depth=Depth.SUMS):
    [entry] = (entry for entry in examine(LocalReader(path), depth=depth).entries if entry.number == step)
    return entry


def assert_refused(path, name):
    with pytest.raises(CheckpointDamaged, match=name):
        CheckpointStore(path).read(2)
    entry = state_of(path)
    assert entry.state == "damaged" and name in entry.fault
    assert CheckpointStore(path).read(1).meta == {}, "the one before is as it was"
    assert state_of(path, step=1).is_good


def test_a_good_one_is_good(copy):
    assert state_of(copy).is_good and CheckpointStore(copy).read(2).meta == {"k": 1}


@pytest.mark.parametrize("place", [0, 7, 8, 20, 60, 100, 190, 200, 1000, -8, -1])
def test_a_turned_bit_in_the_tensors(copy, place):
    path = copy / "step-000000000002" / STATE
    content = bytearray(path.read_bytes())
    content[place] ^= 0x10
    path.write_bytes(content)
    assert_refused(copy, STATE)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 50, 128, 200, -1])
def test_a_truncated_file_of_tensors(copy, size):
    path = copy / "step-000000000002" / STATE
    os.truncate(path, size % path.stat().st_size)
    assert_refused(copy, STATE)
    assert not state_of(copy, depth=Depth.SIZES).is_good, "ls sees it without reading the content"


def test_a_longer_file_of_tensors(copy):
    with open(copy / "step-000000000002" / STATE, "ab") as file:
        file.write(b"x")
    assert_refused(copy, STATE)


def test_a_missing_file_of_tensors(copy):
    (copy / "step-000000000002" / STATE).unlink()
    assert_refused(copy, STATE)


def test_every_truncation_of_a_manifest(copy):
    path = copy / "step-000000000002" / MANIFEST
    content = path.read_bytes()
    # The last byte is the end of the line.
    for size in range(0, len(content) - 1, 7):
        path.write_bytes(content[:size])
        assert_refused(copy, MANIFEST)


def test_turned_bits_of_a_manifest_never_change_the_tensors(copy, small):
    """JSON has no checksum of its own; but what it says of the tensors must agree with them."""
    path = copy / "step-000000000002" / MANIFEST
    content = path.read_bytes()
    for place in range(len(content)):
        turned = bytearray(content)
        turned[place] ^= 0x04
        path.write_bytes(turned)
        try:
            tensors = CheckpointStore(copy).read(2).tensors
        except CheckpointDamaged:
            continue
        assert {name: array.tobytes() for name, array in tensors.items()} == {
            name: array.tobytes() for name, array in small.items()
        }


def test_a_folder_in_the_place_of_a_file(copy):
    path = copy / "step-000000000002" / STATE
    path.unlink()
    path.mkdir()
    with pytest.raises(CheckpointDamaged, match=STATE):
        CheckpointStore(copy).read(2)
    assert not state_of(copy).is_good


def test_what_is_not_ours_and_what_is_unfinished_is_told_apart(copy):
    (copy / "step-000000000009").mkdir()
    (copy / ".tmp-step-000000000010-x").mkdir()
    (copy / "damaged-step-000000000003").mkdir()
    (copy / "step-12").mkdir()
    (copy / "notes.txt").write_text("")
    found = examine(LocalReader(copy))
    assert {entry.name: entry.state for entry in found.entries} == {
        "step-000000000001": "complete",
        "step-000000000002": "complete",
        "step-000000000009": "unfinished",
        ".tmp-step-000000000010-x": "unfinished",
        "damaged-step-000000000003": "set aside",
    }
    assert found.strangers == ("notes.txt", "step-12")
    assert [entry.number for entry in found.checkpoints] == [1, 2, 9]
    assert CheckpointStore(copy).steps() == [1, 2]
