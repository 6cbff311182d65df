"""Every decision, from facts alone."""

import json

import pytest

from paceline.errors import ConfigurationRefused, UsageError
from paceline.launch.facts import MachineFacts
from paceline.launch.options import RunOptions
from paceline.launch.plan import make_plan

MPI = {"mpi4py": "4.1", "mpich": "5.0"}


def plan(facts=None, **options):
    machine = MachineFacts(**{"host": "h", "cpus": (0, 1, 2, 3), "gpus_source": "a test", **(facts or {})})
    return make_plan(RunOptions(target="train.py", **options), machine, cwd="/", drawn_seed=99)


@pytest.mark.parametrize(
    ("facts", "options", "workers"),
    [
        ({}, {}, 1),
        ({"gpus": ("0", "1", "2")}, {}, 3),
        ({"gpus": ("0", "1")}, {"strategy": "mirrored"}, 1),
        ({"gpus": ("0", "1"), "tensorflow_uses_gpus": False}, {}, 1),
        ({"gpus": ("0", "1")}, {"devices": ("7",)}, 1),
        ({}, {"workers": 5}, 5),
    ],
)
def test_number_of_workers(facts, options, workers):
    assert plan(facts, **options).num_workers == workers


@pytest.mark.parametrize(
    ("workers", "facts", "cpus", "intra_op"),
    [
        (1, {}, ((),), 0),
        (2, {}, ((0, 1), (2, 3)), 2),
        (3, {}, ((0,), (1,), (2,)), 1),
        (8, {}, ((),) * 8, 1),
        (2, {"cpus": (5, 9)}, ((5,), (9,)), 1),
        (2, {"cpu_quota": 2}, ((), ()), 1),
    ],
)
def test_cores_are_divided(workers, facts, cpus, intra_op):
    made = plan(facts, workers=workers)
    assert (made.cpus, made.intra_op) == (cpus, intra_op)
    assert made.is_crowded == (workers == 8)


@pytest.mark.parametrize("workers", [35, 1000, 10**23])
def test_more_workers_than_the_memory_holds_are_refused(workers):
    with pytest.raises(ConfigurationRefused, match=r"no room(.|\n)*at most 34 workers(.|\n)*--workers 4"):
        plan({"memory_bytes": 8 * 2**30}, workers=workers)
    assert plan({"memory_bytes": 8 * 2**30}, workers=34).num_workers == 34
    assert plan({"memory_bytes": 1}, workers=1).num_workers == 1


def test_a_number_of_workers_that_no_machine_holds_is_refused():
    with pytest.raises(ConfigurationRefused, match="no room"):
        plan(workers=10**23)


def test_devices_are_divided():
    gpus = {"gpus": ("0", "1", "2", "3")}
    assert plan(gpus).devices == (("0",), ("1",), ("2",), ("3",))
    assert plan(gpus, workers=2).devices == (("0", "1"), ("2", "3"))
    assert plan(gpus, strategy="mirrored").devices == (("0", "1", "2", "3"),)
    assert plan(gpus, workers=2, devices=()).devices == ((), ())
    with pytest.raises(ConfigurationRefused, match="more workers than GPUs"):
        plan(gpus, workers=5)


@pytest.mark.parametrize(
    "options",
    [
        {"strategy": "mirored"},
        {"communication": "smoke"},
        {"workers": 0},
        {"replicas_per_worker": 0},
        {"strategy": "mirrored", "workers": 2},
        {"workers": 2, "communication": "hierarchical"},
    ],
)
def test_nonsense_is_refused(options):
    with pytest.raises((ConfigurationRefused, UsageError)):
        plan(MPI, **options)


def test_seed_is_drawn_once_and_told():
    assert plan().seed == 99
    assert plan(seed=0).seed == 0
    assert "--seed" in next(d.reason for d in plan().decisions if d.name == "seed")


def test_plan_and_job_are_json():
    made = plan(MPI, workers=2, env=(("A", "b"),), script_args=("x",))
    assert json.loads(json.dumps(made.to_json()))["schema"] == 1
    job = json.loads(json.dumps(made.job("/run", 0, ("127.0.0.1:1", "127.0.0.1:2"))))
    assert job["cluster"] == {"worker": ["127.0.0.1:1", "127.0.0.1:2"]}
    assert job["env"] == {"A": "b"} and job["script"]["argv"] == ["x"]
