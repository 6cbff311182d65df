"""Calls of `tf.config` that come too late for TensorFlow pass without effect, and are told."""

from __future__ import annotations

import pytest

KINDS = {
    "one worker": {"workers": 1},
    "two workers": {"workers": 2},
    "two replicas": {"workers": 1, "options": ("--strategy", "mirrored", "--replicas-per-worker", "2")},
}
# Every public function of tf.config that changes something (TensorFlow 2.19 to 2.21); a new one needs a decision.
CHANGES = {
    "disable_mlir_bridge", "enable_mlir_bridge", "enable_op_determinism", "enable_tensor_float_32_execution",
    "experimental_connect_to_cluster", "experimental_connect_to_host", "experimental_run_functions_eagerly",
    "run_functions_eagerly", "set_device_policy", "set_experimental_options", "set_inter_op_parallelism_threads",
    "set_intra_op_parallelism_threads", "set_jit", "set_logical_device_configuration", "set_memory_growth",
    "set_soft_device_placement", "set_synchronous_execution", "set_virtual_device_configuration",
    "set_visible_devices",
}  # fmt: skip


@pytest.fixture(scope="module")
def results(start):
    return {name: start("configures.py", **options).ok() for name, options in KINDS.items()}


@pytest.fixture(params=KINDS)
def result(request, results):
    return results[request.param]


def test_what_is_without_effect_is_told_once(result):
    told = result.notes("tf.config")
    for pattern, option in (
        (r"set_intra_op_parallelism_threads\(\d+\) is without effect", "--env TF_NUM_INTRAOP_THREADS="),
        (r"set_inter_op_parallelism_threads\(99\) is without effect", "--env TF_NUM_INTEROP_THREADS=99"),
        (r"set_visible_devices\(\[\], 'CPU'\) is without effect", "with [CPU:0]"),
        (r"configuration\(CPU:0, 3 logical devices\) is without effect", "--replicas-per-worker 3"),
        (r"configuration\(CPU:0, 4 logical devices\) is without effect", "--replicas-per-worker 4"),
    ):
        (line,) = result.notes(pattern)
        assert option in line
        told.remove(line)
    # Nothing is said of what is so already.
    assert all("experimental_connect_to_cluster" in line for line in told), told


def test_variables_that_come_too_late_are_told_once(result):
    (line,) = result.notes("os.environ")
    assert "'TF_GPU_THREAD_COUNT'] = '17' is without effect" in line
    assert "--env TF_GPU_THREAD_COUNT=17" in line
    assert result.same("child") == "17"  # what the script starts finds it


def test_a_keras_that_is_not_trained_is_refused_where_the_script_asks_for_it(result):
    for name in ("KERAS_BACKEND=jax", "TF_USE_LEGACY_KERAS=1"):
        kind, code, text = result.same(name)
        assert (kind, code) == ("ConfigurationRefused", 78)
        assert f"{name} in os.environ of the script" in text
    assert result.same("TF_USE_LEGACY_KERAS=0") is None


def test_legacy_keras_trains_on_one_replica_only(results):
    assert results["one worker"].same("a step of legacy Keras") is None
    for name in ("two workers", "two replicas"):
        kind, code, text = results[name].same("a step of legacy Keras")
        assert (kind, code) == ("ScriptRefused", 78)
        assert "--workers 1" in text


def test_the_jobs_own_cluster_is_not_connected_to_again(results):
    assert results["two workers"].notes(r"experimental_connect_to_cluster\(127.0.0.1:\d+, 127.0.0.1:\d+\) is without")
    for name in ("one worker", "two replicas"):
        assert not results[name].notes("experimental_connect_to_cluster")


def test_what_the_job_decided_stays(results):
    assert {name: result.same("devices") for name, result in results.items()} == {
        "one worker": 1, "two workers": 1, "two replicas": 2,
    }  # fmt: skip


def test_bad_arguments_raise_as_they_do_without_paceline(result):
    for name in ("growth of a CPU", "no such device", "limit of a CPU"):
        assert result.same(name)[0] == "ValueError"


def test_what_works_at_any_time_is_untouched(result):
    works = result.same("works")
    assert all(works.values()), works
    assert set(result.same("changes")) == CHANGES


def test_training_is_one_devices(results):
    one = results["one worker"].facts[0]["loss"]
    for result in results.values():
        result.same("digest")
        # float32 sums in another order
        assert result.facts[0]["loss"] == pytest.approx(one, rel=1e-5)


def test_options_that_a_note_names_do_it(start):
    options = ("--env", "TF_NUM_INTEROP_THREADS=99")
    result = start("configures.py", workers=1, options=options).ok()
    assert not result.notes("set_inter_op")
