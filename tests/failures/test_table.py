"""Every row knows a line as it appears in the wild, and no row takes a line of another."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paceline.failures import table
from paceline.failures.row import Kind, fill

LINES = [
    line.split("\t")
    for line in (Path(__file__).parent / "lines.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
ROWS = {row.name: row for rows in table.FAMILIES.values() for row in rows}
#: A line of the first that the second knows too, because it says both.
SAYS_BOTH = {
    ("collective-timeout", "deadline-exceeded"),
    ("collectives-aborted", "socket-closed"),
    ("empty-replica-batch", "addn-shapes"),
    ("gpu-allocator-hint", "bfc-dump"),
    ("gpu-allocator-oom", "bfc-dump"),
    ("hdf5-lock", "cannot-create-thread"),
    ("k8s-evicted-disk", "k8s-evicted"),
    ("k8s-no-gpu", "k8s-no-room"),
    ("leader-unreachable", "deadline-exceeded"),
    ("nccl-connect-old", "connection-timed-out"),
    ("nccl-driver-too-old", "driver-too-old"),
    ("nccl-driver-too-old", "nccl-cuda"),
    ("nccl-gpu-memory", "nccl-cuda"),
    ("nccl-memlock", "cannot-allocate"),
    ("nccl-shm-full", "disk-full"),
    ("nccl-system-error", "collectives-abort-begins"),
    ("no-dynamic-library", "shared-library-missing"),
    ("peer-restarted", "collectives-abort-begins"),
    ("peer-restarted", "error-from-peer"),
    ("peer-silent", "collectives-abort-begins"),
    ("peer-silent", "error-from-peer"),
    ("slurm-task-crashed", "bus-error"),
    ("ssh-connect", "connection-refused"),
    ("ssh-name", "dns-name"),
    ("tpu-mesh", "socket-closed"),
    ("uneven-data", "collectives-abort-begins"),
    ("uneven-data", "end-of-sequence"),
    ("wait-for-all-tasks", "deadline-exceeded"),
}


@pytest.mark.parametrize(("name", "line"), [(name, line) for name, _, line in LINES])
def test_a_line_is_known_by_its_row(name, line):
    found = table.find(line)
    assert found is not None and found.name == name
    assert found.regex.search(line)


def test_every_row_has_a_line_and_a_source():
    assert {name for name, _, _ in LINES} == set(ROWS)
    assert all(row.source.startswith("https://") or (row.source.startswith("docs/")) for row in ROWS.values())
    assert all(source in {"provoked", "form"} or source.startswith("https://github.com/") for _, source, _ in LINES)


def test_no_row_takes_a_line_of_another():
    taken = {
        (name, row.name)
        for name, _, line in LINES
        for row in ROWS.values()
        if row.name != name and not row.is_general and row.regex.search(line)
    }
    assert taken == SAYS_BOTH


def test_what_a_line_has_to_hold_is_in_each_line_that_matches():
    for _, _, line in LINES:
        for row in ROWS.values():
            assert (row.search(line) is None) == (row.regex.search(line) is None), (row.name, row.needles, line)


def test_every_row_says_what_it_means_and_but_for_noise_what_to_do():
    for row in ROWS.values():
        assert row.meaning.endswith((".", "}")), row.name
        assert bool(row.fix) == (row.kind is not Kind.NOISE), row.name
        assert "(?i)" not in row.pattern, "needles are looked for as they are written"
        names = {name.rstrip("2") for name in row.regex.groupindex}
        assert set(re.findall(r"\{(\w+)\}", row.meaning + row.fix)) <= names, row.name
        assert fill(row.meaning, {}) and (fill(row.fix, {}) or row.kind is Kind.NOISE)


def test_progress_is_no_failure():
    for line in ("Epoch 1/3", "12/12 - 0s - 5ms/step - loss: 0.31", "", "loss: 0.1 val_loss: 0.2", "error rate: 0.12"):
        assert table.find(line) is None
