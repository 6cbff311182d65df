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


def decision(made, name):
    return next((decision for decision in made.decisions if decision.name == name), None)


@pytest.mark.parametrize(
    ("facts", "options", "workers"),
    [
        ({}, {}, 1),
        ({"gpus": ("0", "1", "2")}, {}, 3),
        ({"gpus": ("0", "1")}, {"strategy": "mirrored"}, 1),
        ({"gpus": ("0", "1"), "tensorflow_uses_gpus": False}, {}, 1),
        ({"gpus": ("0", "1")}, {"devices": ("7",)}, 1),
        ({"gpus": ("0", "1")}, {"replicas_per_worker": 2}, 1),
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


@pytest.mark.parametrize(
    "options",
    [
        {"strategy": "mirored"},
        {"communication": "smoke"},
        {"workers": 0},
        {"replicas_per_worker": 0},
        {"strategy": "mirrored", "workers": 2},
        {"workers": 2, "communication": "hierarchical"},
        {"workers": 2, "replicas_per_worker": 2},
    ],
)
def test_nonsense_is_refused(options):
    with pytest.raises((ConfigurationRefused, UsageError)):
        plan(MPI, **options)


def test_seed_is_drawn_once_and_told():
    assert plan().seed == 99
    assert plan(seed=0).seed == 0
    assert "--seed" in next(d.reason for d in plan().decisions if d.name == "seed")


def test_a_job_says_where_its_replicas_live():
    made = plan({"gpus": ("0", "1")}, workers=1)
    job = made.job("/run", 0, ())
    assert (job["devices"], job["replicas_per_worker"]) == ([["0", "1"]], 2)
    assert "mirrored in one process" in decision(made, "replicas_per_worker").reason
    assert decision(made, "in_process").value == "nccl"


@pytest.mark.parametrize(("workers", "value"), [(1, "left out"), (2, "replaced")])
def test_a_tf_config_of_another_cluster_is_said(workers, value):
    made = decision(plan({"has_tf_config": True}, workers=workers), "tf_config")
    assert (made.value, made.is_fallback) == (value, True)
    assert decision(plan(workers=workers), "tf_config") is None


def test_plan_and_job_are_json():
    made = plan(MPI, workers=2, env=(("A", "b"),), script_args=("x",))
    assert json.loads(json.dumps(made.to_json()))["schema"] == 1
    job = json.loads(json.dumps(made.job("/run", 0, ("127.0.0.1:1", "127.0.0.1:2"))))
    assert job["cluster"] == {"worker": ["127.0.0.1:1", "127.0.0.1:2"]}
    assert job["env"] == {"A": "b"} and job["script"]["argv"] == ["x"]
