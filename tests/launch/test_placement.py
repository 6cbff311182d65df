"""Which GPUs each worker has and how many replicas, from facts alone."""

import pytest

from paceline.errors import ConfigurationRefused
from paceline.launch.facts import MachineFacts
from paceline.launch.options import RunOptions
from paceline.launch.placement import place

GPUS = {"gpus": ("0", "1", "2", "3")}
CPU_BUILD = {**GPUS, "tensorflow_uses_gpus": False}


def placed(facts=None, **options):
    machine = MachineFacts(**{"host": "h", "cpus": (0, 1, 2, 3), "gpus_source": "a test", **(facts or {})})
    return place(RunOptions(target="train.py", **options), machine)


def decision(made, name):
    return next(decision for decision in made.decisions if decision.name == name)


@pytest.mark.parametrize(
    ("facts", "options", "devices", "replicas"),
    [
        # No GPU that the launcher knows of: nothing is hidden from one worker, all from several.
        ({}, {}, (), 1),
        ({}, {"replicas_per_worker": 3}, (), 3),
        ({}, {"workers": 2}, ((), ()), 1),
        (CPU_BUILD, {}, (), 1),
        (GPUS, {"devices": ()}, ((),), 1),
        (GPUS, {"devices": (), "replicas_per_worker": 2}, ((),), 2),
        (GPUS, {"devices": (), "workers": 2}, ((), ()), 1),
        # One worker has all GPUs, and trains on all.
        (GPUS, {"workers": 1}, (("0", "1", "2", "3"),), 4),
        (GPUS, {"strategy": "mirrored"}, (("0", "1", "2", "3"),), 4),
        (GPUS, {"replicas_per_worker": 4}, (("0", "1", "2", "3"),), 4),
        (GPUS, {"workers": 1, "devices": ("2", "3")}, (("2", "3"),), 2),
        (GPUS, {"workers": 1, "devices": ("2",)}, (("2",),), 1),
        (GPUS, {"workers": 1, "devices": ("2",), "replicas_per_worker": 1}, (("2",),), 1),
        (GPUS, {"strategy": "one-device"}, (("0",),), 1),
        # Several have one each.
        (GPUS, {}, (("0",), ("1",), ("2",), ("3",)), 1),
        (GPUS, {"replicas_per_worker": 1}, (("0",), ("1",), ("2",), ("3",)), 1),
        (GPUS, {"devices": ("1", "3")}, (("1",), ("3",)), 1),
        (GPUS, {"workers": 3}, (("0",), ("1",), ("2",)), 1),
    ],
)
def test_devices_and_replicas(facts, options, devices, replicas):
    made = placed(facts, **options)
    assert (made.devices, made.replicas_per_worker) == (devices, replicas)
    assert decision(made, "devices").value == [list(ids) for ids in devices]
    assert decision(made, "replicas_per_worker").value == replicas
    assert made.replicas.num_gpus == sum(map(len, devices))


@pytest.mark.parametrize(
    ("options", "words", "is_fallback"),
    [
        ({"workers": 3}, "1 of 4 GPUs left idle, --workers 4 uses all", True),
        ({"strategy": "one-device", "devices": ("0", "1")}, "1 of 2 GPUs left idle, --strategy mirrored", True),
        ({"strategy": "one-device"}, "3 of 4 GPUs left idle", False),
        ({"workers": 4}, "a test", False),
    ],
)
def test_gpus_that_are_left_idle_are_said(options, words, is_fallback):
    made = decision(placed(GPUS, **options), "devices")
    assert words in made.reason
    assert made.is_fallback == is_fallback


@pytest.mark.parametrize(
    ("facts", "options", "words"),
    [
        (GPUS, {"workers": 5}, 'more workers than GPUs.*--workers 4, or --devices ""'),
        (GPUS, {"workers": 5, "devices": ("0", "1")}, "more workers than GPUs.*--workers 2$"),
        (GPUS, {"workers": 2}, "more than one GPU.*--workers 4, or --devices 0,1$"),
        (GPUS, {"workers": 2, "devices": ("0", "1", "2", "3")}, "more than one GPU.*--workers 4, or --devices 0,1$"),
        (GPUS, {"workers": 1, "replicas_per_worker": 2}, "--replicas-per-worker 4, or --devices 0,1$"),
        (GPUS, {"workers": 1, "replicas_per_worker": 1}, "--replicas-per-worker 4, or --devices 0$"),
        (GPUS, {"replicas_per_worker": 6}, '--replicas-per-worker 4, or --devices "" for 6 replicas on the CPU'),
        (GPUS, {"strategy": "mirrored", "devices": ("0",), "replicas_per_worker": 2}, "expected: 1 replica\n"),
        (CPU_BUILD, {"devices": ("0", "1")}, r"--devices 0,1, tensorflow-cpu.*leave out.*tensorflow\[and-cuda\]"),
        ({}, {"replicas_per_worker": 2000}, "too many replicas.*at most 32: 8 for each core.*--replicas-per-worker 4$"),
        ({}, {"replicas_per_worker": 33}, "too many replicas"),
        ({"cpu_quota": 1}, {"replicas_per_worker": 9}, "cores of h: 1"),
    ],
)
def test_what_has_no_place_is_refused_with_the_way_out(facts, options, words):
    with pytest.raises(ConfigurationRefused, match=f"(?s){words}") as refused:
        placed(facts, **options)
    assert refused.value.exit_code == 78


def test_a_few_replicas_for_each_core_are_not_refused():
    assert placed(replicas_per_worker=32).replicas_per_worker == 32


@pytest.mark.parametrize("workers", [35, 1000, 10**23])
def test_more_workers_than_the_memory_holds_are_refused(workers):
    with pytest.raises(ConfigurationRefused, match=r"no room(.|\n)*at most 34 workers(.|\n)*--workers 4"):
        placed({"memory_bytes": 8 * 2**30}, workers=workers)
    assert placed({"memory_bytes": 8 * 2**30}, workers=34).workers == 34
    assert placed({"memory_bytes": 1}, workers=1).workers == 1


def test_a_number_of_workers_that_no_machine_holds_is_refused():
    with pytest.raises(ConfigurationRefused, match="no room"):
        placed(workers=10**23)
