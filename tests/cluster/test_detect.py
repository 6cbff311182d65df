import importlib

import pytest

from paceline.cluster.detect import ENVIRONMENTS, detect
from paceline.cluster.spec import ClusterSpec
from paceline.errors import ClusterError

TF_CONFIG = '{"cluster": {"worker": ["a:2222", "b:2222"]}, "task": {"type": "worker", "index": 1}}'

CASES = [
    ({}, None, "local", 1, {"cluster": "this machine", "task": "this machine"}),
    ({"CUDA_VISIBLE_DEVICES": "2,3"}, None, "local", 1, {"devices": "CUDA_VISIBLE_DEVICES"}),
    ({"TF_CONFIG": TF_CONFIG}, None, "tf_config", 2, {"cluster": "TF_CONFIG", "task": "TF_CONFIG"}),
    ({"TF_CONFIG": "{}"}, None, "local", 1, {"cluster": "this machine"}),
    ({"TF_CONFIG": TF_CONFIG}, ClusterSpec.of_workers(["x:1"] * 1), "explicit", 1, {"cluster": "argument"}),
    ({"TF_CONFIG": "broken"}, ClusterSpec.of_workers(["x:1"]), "explicit", 1, {"cluster": "argument"}),
]


@pytest.mark.parametrize(("environ", "explicit", "environment", "num_workers", "sources"), CASES)
def test_the_first_that_is_present_wins(environ, explicit, environment, num_workers, sources):
    detected = detect(environ, explicit=explicit)
    assert (detected.environment, detected.spec.num_workers) == (environment, num_workers)
    assert sources.items() <= detected.spec.sources.items()


def test_devices_are_added_to_what_tf_config_says():
    spec = detect({"TF_CONFIG": TF_CONFIG, "CUDA_VISIBLE_DEVICES": "0"}).spec
    assert (spec.devices, spec.sources["devices"]) == (("0",), "CUDA_VISIBLE_DEVICES")


@pytest.mark.parametrize("value", ["", "broken", '{"task": {"type": "worker", "index": 0}}'])
def test_a_broken_one_is_not_passed_over(value):
    with pytest.raises(ClusterError):
        detect({"TF_CONFIG": value})


def test_without_a_mapping_the_environment_of_the_process_is_read(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", TF_CONFIG)
    assert detect().spec.rank == 1


def test_every_row_of_the_table_supplies_the_contract():
    for module in ENVIRONMENTS.values():
        environment = importlib.import_module(module)
        assert callable(environment.present)
        assert callable(environment.describe)
    assert list(ENVIRONMENTS)[-1] == "local"
