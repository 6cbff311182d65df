"""How a step communicates and computes is chosen on the command line or in the script; the sums stay the same."""

from __future__ import annotations

import json

import numpy as np
import pytest

SUMS = {
    "auto": "CollectiveAllReduce",
    "hierarchical": "HierarchicalCopyAllReduce",
    "one-device": "ReductionToOneDevice",
}


def mirrored(communication, replicas=2):
    return ("--strategy", "mirrored", "--replicas-per-worker", str(replicas), "--communication", communication)


@pytest.fixture(scope="module")
def auto(start):
    return start("step_options.py", workers=1, options=mirrored("auto")).ok()


@pytest.fixture(scope="module")
def one(start):
    return start("step_options.py", workers=1).ok()


def check_alike(result, one):
    # float32 sums in another order: a few units in the last place of values near 1
    np.testing.assert_allclose(result["weights"], one["weights"], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(result["evaluated"], one["evaluated"], rtol=1e-5)
    np.testing.assert_allclose(result["logs"]["loss"], one["logs"]["loss"], rtol=1e-5)


@pytest.mark.parametrize(
    "communication",
    [
        pytest.param(
            name,
            marks=pytest.mark.support(feature=f"--communication {name}", strategy="mirrored", transport="in-process"),
        )
        for name in ("hierarchical", "one-device")
    ],
)
def test_two_replicas_of_a_process_are_summed_as_asked(start, auto, one, communication):
    result = start("step_options.py", workers=1, options=mirrored(communication)).ok().facts[0]
    assert (auto.facts[0]["sums"], auto.facts[0]["replicas"]) == (SUMS["auto"], 2)
    assert (result["sums"], result["replicas"]) == (SUMS[communication], 2)
    assert result["options"]["communication"] == communication
    # A sum of two numbers has one order
    assert result["digest"] == auto.facts[0]["digest"]
    check_alike(result, one.facts[0])


def test_four_replicas_in_two_halves(start, one):
    result = start("step_options.py", workers=1, options=mirrored("hierarchical", 4)).ok().facts[0]
    assert (result["sums"], result["replicas"]) == (SUMS["hierarchical"], 4)
    check_alike(result, one.facts[0])


def test_an_odd_number_of_replicas_in_two_halves_is_refused(start):
    result = start("step_options.py", workers=1, options=mirrored("hierarchical", 3))
    assert result.code == 78 and "it would lose one" in result.err and result.facts == []


def in_process_only(name):
    reason = "it sums the replicas of one process"
    return [
        pytest.mark.support(
            feature=f"--communication {name}", strategy="multi-worker", transport=transport, refused=reason
        )
        for transport in ("mpi", "ring")
    ]


@pytest.mark.parametrize(
    "communication", [pytest.param(name, marks=in_process_only(name)) for name in ("hierarchical", "one-device")]
)
def test_sums_of_one_process_are_refused_between_workers(start, communication):
    result = start("step_options.py", workers=2, options=("--communication", communication))
    assert result.code == 78 and result.facts == []
    assert "for the replicas of one process" in result.err and "nccl, ring, mpi" in result.err


@pytest.mark.parametrize(
    "communication",
    [
        pytest.param(
            name, marks=pytest.mark.support(feature=f"--communication {name}", strategy="one-device", transport="none")
        )
        for name in ("hierarchical", "one-device")
    ],
)
def test_one_replica_trains_without_sums_and_says_so(start, one, communication):
    result = start("step_options.py", workers=1, options=("--communication", communication)).ok()
    assert len(result.notes(f"transport: none .*--communication {communication} is without effect")) == 1
    assert result.facts[0]["digest"] == one.facts[0]["digest"]


def test_one_worker_has_nothing_to_sum_and_says_so(start, one):
    result = start("step_options.py", workers=1, options=("--communication", "mpi", "--wire-dtype", "float16")).ok()
    assert len(result.notes("transport: none .*--communication mpi is without effect")) == 1
    assert len(result.notes("wire_dtype: float16 .*without effect")) == 1
    assert result.facts[0]["options"] == {**one.facts[0]["options"], "wire_dtype": "float16"}
    assert one.notes("without effect") == []


def test_the_command_line_beats_the_script_on_every_worker(start):
    first, later = {"jit": "on", "communication": "one-device"}, {"jit": "off", "bucket_mb": 2.0}
    result = start("step_options.py", json.dumps(first), json.dumps(later), options=("--bucket-mb", "1")).ok()
    expected = {"communication": "auto", "wire_dtype": "float32", "bucket_mb": 1.0, "jit": "off"}
    assert result.same("options") == expected
    result.same("digest")
    for pattern in (
        "communication='one-device' of the script is without effect: it is for the replicas of one process",
        r"bucket_mb=2\.0 of the script is without effect: paceline run was given --bucket-mb 1\.0",
        r"other options than before: from now on jit='off' \(it was 'on'\)",
    ):
        assert len(result.notes(pattern)) == 1, (pattern, result.err)


def test_plain_python_applies_the_scripts(start, one):
    given = {"jit": "off", "bucket_mb": 2.0, "communication": "ring"}
    plain = start("step_options.py", json.dumps(given), plain=True).ok()
    assert plain.facts[0]["options"] == {**one.facts[0]["options"], **given, "communication": "auto"}
    assert len(plain.notes("communication='ring' .*nothing to sum")) == 1
