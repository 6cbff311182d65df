"""Scripts that construct strategies themselves get the job's, whatever arguments they give."""

from __future__ import annotations

import numpy as np
import pytest

KINDS = {
    "one worker": {"workers": 1},
    "two workers": {"workers": 2},
    "two replicas": {"workers": 1, "options": ("--strategy", "mirrored", "--replicas-per-worker", "2")},
}


@pytest.fixture(scope="module")
def results(start):
    return {name: start("own_strategies.py", **options).ok() for name, options in KINDS.items()}


@pytest.fixture(params=KINDS)
def result(request, results):
    return results[request.param]


@pytest.mark.support(
    feature="script makes MirroredStrategy or MultiWorkerMirroredStrategy", strategy="multi-worker", transport="mpi"
)
@pytest.mark.support(
    feature="script makes MirroredStrategy or MultiWorkerMirroredStrategy", strategy="one-device", transport="none"
)
@pytest.mark.support(
    feature="script makes MirroredStrategy or MultiWorkerMirroredStrategy", strategy="mirrored", transport="in-process"
)
def test_constructors_return_the_jobs_strategy(result):
    assert result.same("isinstance") == [True] * 5
    assert result.same("one_object")
    assert result.same("has_strategy")


def test_the_number_of_replicas_is_the_jobs(results):
    assert {name: result.same("replicas") for name, result in results.items()} == {
        "one worker": 1, "two workers": 2, "two replicas": 2,
    }  # fmt: skip


def test_ignored_arguments_are_told_once(result):
    for pattern in (
        r"MultiWorkerMirroredStrategy\(\) returns.*without effect:.*cluster_resolver=.*communication_options=",
        r"MirroredStrategy\(\) returns.*devices=\['/gpu:0', '/gpu:1'\], cross_device_ops=NcclAllReduce",
        r"OneDeviceStrategy\(\) returns.*'/gpu:0'",
        r"experimental\.MultiWorkerMirroredStrategy\(\) returns",
    ):
        assert len(result.notes(pattern)) == 1, (pattern, result.err)


def test_each_worker_knows_its_place(results):
    two = results["two workers"]
    assert [worker["place"] for worker in two.facts] == [[0, 2, True, 2], [1, 2, False, 2]]
    assert [worker["task"] for worker in two.facts] == [["worker", 0], ["worker", 1]]
    assert results["one worker"].facts[0]["place"] == [0, 1, True, 1]


def test_tf_config_is_true_before_the_script_overwrites_it(results):
    seen = [worker["tf_config_before"] for worker in results["two workers"].facts]
    assert [config["task"] for config in seen] == [{"type": "worker", "index": 0}, {"type": "worker", "index": 1}]
    assert len(set(seen[0]["cluster"]["worker"])) == 2
    assert seen[0]["cluster"] == seen[1]["cluster"]


def test_training_is_one_devices(results):
    one = results["one worker"].facts[0]
    for result in results.values():
        result.same("digest")
        # float32 sums in another order: a few units in the last place of values near 1
        np.testing.assert_allclose(result.facts[0]["weights"], one["weights"], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(result.facts[0]["losses"], one["losses"], rtol=1e-5)
