import dataclasses

import pytest

from paceline.errors import ConfigurationRefused, UsageError
from paceline.launch.options import STRATEGIES, RunOptions
from paceline.step_options import COMMUNICATIONS, StepOptions


def test_it_is_frozen_and_by_keyword():
    options = RunOptions(target="train.py")
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.workers = 2
    with pytest.raises(TypeError):
        RunOptions("train.py")


@pytest.mark.parametrize("strategy", [s for s in STRATEGIES if s not in {"parameter-server", "tpu"}])
@pytest.mark.parametrize("communication", COMMUNICATIONS)
def test_every_word_is_taken(strategy, communication):
    assert RunOptions(target="t.py", strategy=strategy, communication=communication).strategy == strategy


@pytest.mark.parametrize(
    "bad",
    [
        {"target": ""},
        {"workers": 0},
        {"workers": -1},
        {"replicas_per_worker": 0},
        {"seed": -1},
        {"seed": 2**32},
        {"start_timeout_s": 0.0},
        {"start_timeout_s": float("inf")},
        {"start_timeout_s": float("nan")},
        {"grace_s": -1.0},
        {"strategy": "best"},
        {"communication": "smoke"},
        {"wire_dtype": "float8"},
        {"jit": "maybe"},
        {"bucket_mb": -1.0},
        {"devices": ("0", "0")},
        {"devices": ("cpu",)},
        {"env": (("A B", "1"),)},
        {"env": (("A", "1\0"),)},
        {"all_output": True, "quiet": True},
    ],
    ids=str,
)
def test_bad_values_are_usage_with_a_fix(bad):
    with pytest.raises(UsageError) as caught:
        RunOptions(**{"target": "t.py", **bad})
    assert caught.value.got
    assert caught.value.expected
    assert caught.value.fix


@pytest.mark.parametrize(
    "bad",
    [
        {"strategy": "tpu"},
        {"strategy": "parameter-server"},
        {"strategy": "mirrored", "workers": 2},
        {"strategy": "one-device", "workers": 2},
        {"strategy": "one-device", "replicas_per_worker": 2},
        {"workers": 2, "replicas_per_worker": 2},
        {"env": (("TF_CONFIG", "{}"),)},
        {"env": (("CUDA_VISIBLE_DEVICES", "0"),)},
        {"env": (("PACELINE_RANK", "1"),)},
    ],
    ids=str,
)
def test_what_cannot_work_is_refused_with_a_fix(bad):
    with pytest.raises(ConfigurationRefused) as caught:
        RunOptions(target="t.py", **bad)
    assert caught.value.got
    assert caught.value.expected
    assert caught.value.fix


@pytest.mark.parametrize("devices", [None, (), ("0",), ("2", "3"), ("GPU-8f3c2a10-aaaa",), ("MIG-GPU-8f3c/1/0",)])
def test_devices(devices):
    assert RunOptions(target="t.py", devices=devices).devices == devices


def test_what_was_chosen_for_a_step_is_one_value():
    chosen = {"communication": "ring", "wire_dtype": "bfloat16", "bucket_mb": 25.0, "jit": "off"}
    assert RunOptions(target="t.py", **chosen).step == StepOptions(**chosen)
    assert RunOptions(target="t.py").step == StepOptions()


def test_edges_that_are_good():
    RunOptions(target="t.py", workers=1, strategy="mirrored", replicas_per_worker=8, seed=0, grace_s=0.0)
    RunOptions(target="t.py", seed=2**32 - 1)
