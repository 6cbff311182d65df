"""A disk that is full, read-only or forbidden costs no older checkpoint, and is told once.

A small disk is mounted in a namespace of its own: root may, and a user where the system lets users have namespaces.
The limit of a file's size (RLIMIT_FSIZE) and missing permissions are tried as anybody.
"""

import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from paceline.checkpoint.background import BackgroundWriter
from paceline.checkpoint.store import CheckpointStore
from paceline.errors import CheckpointDamaged, CheckpointNotWritten

PROGRAM = Path(__file__).parent / "programs" / "disks.py"
NAMESPACE = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
NOBODY = 65534


def may_mount(folder):
    command = [*NAMESPACE, "mount", "-t", "tmpfs", "tmpfs", folder]
    with contextlib.suppress(OSError):
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    return False


@pytest.fixture(scope="module")
def disks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("disk")
    if not may_mount(folder):
        pytest.skip("nothing can be mounted here")
    command = [*NAMESPACE, sys.executable, PROGRAM, folder]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_a_full_disk_is_told_once_and_leaves_what_was_there(disks):
    full = disks["full"]
    assert full["steps"] == [1] and full["names"] == ["step-000000000001"]
    assert full["failing"]
    [line] = full["told"]
    assert "no checkpoint of step 2; training goes on" in line
    assert "No space left on device" in line and "free some space" in line


def test_when_there_is_space_again_it_goes_on_and_says_so(disks):
    again = disks["again"]
    assert again["steps"] == [1, 4] and not again["failing"]
    assert len(again["told"]) == 1 and "can be written again" in again["told"][0]


def test_a_disk_that_becomes_read_only_is_told_once(disks):
    read_only = disks["read_only"]
    assert read_only["steps"] == [1, 4] and read_only["newest"] == 4
    [line] = read_only["told"]
    assert "Read-only file system" in line and "--checkpoint-dir" in line


def test_a_limit_of_the_size_of_files(store, small):
    store.write(1, small, {})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(CheckpointNotWritten, match="File too large") as caught:
            store.write(2, {"a": np.ones(100_000)}, {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "ulimit" in caught.value.fix
    assert os.listdir(store.path) == ["step-000000000001"]


@pytest.fixture
def of_somebody_else(small):
    """A store in a directory that may be read but not written by who runs the test."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o711)  # noqa: S103 - for anybody to enter
        told = []
        store = CheckpointStore(f"{folder}/ckpt", tell=told.append)
        store.write(1, small, {})
        store.told = told
        os.chmod(store.path, 0o555)  # noqa: S103 - for anybody to read
        is_root = os.geteuid() == 0
        if is_root:  # whom nothing is forbidden
            os.seteuid(NOBODY)
        try:
            yield store
        finally:
            if is_root:
                os.seteuid(0)
            os.chmod(store.path, 0o700)


def test_a_directory_that_may_not_be_written(of_somebody_else, small):
    store = of_somebody_else
    with pytest.raises(CheckpointNotWritten, match="Permission denied") as caught:
        store.write(2, small, {})
    assert "chmod" in caught.value.fix
    writer = BackgroundWriter(store)
    for step in (3, 4):
        writer.submit(step, small, {})
    assert writer.flush(60)
    assert len(store.told) == 1 and "Permission denied" in store.told[0]
    with pytest.raises(CheckpointNotWritten, match="Permission denied"):
        store.write_run({})
    store.set_aside(1)
    assert store.steps() == [1] and store.read(1).step == 1


def test_a_checkpoint_that_may_not_be_read(of_somebody_else):
    store = of_somebody_else
    uid = os.geteuid()
    if uid == NOBODY:
        os.seteuid(0)
    os.chmod(f"{store.path_of(1)}/state-0-of-1.safetensors", 0)
    if uid == NOBODY:
        os.seteuid(NOBODY)
    with pytest.raises(CheckpointDamaged, match="Permission denied"):
        store.read(1)
