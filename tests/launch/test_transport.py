"""How replicas are summed and what of a step's options has an effect, as tables."""

import re

import pytest

from paceline.communication import Replicas
from paceline.errors import ConfigurationRefused
from paceline.launch.facts import MachineFacts
from paceline.launch.options import RunOptions
from paceline.launch.plan import make_plan
from paceline.launch.transport import decide
from paceline.step_options import StepOptions

MPI = {"mpi4py": "4.1", "mpich": "5.0"}
TWO, GPUS = {"workers": 2}, {"gpus": ("0", "1", "2", "3")}
TWO_GPUS = {"gpus": ("0", "1")}
MIRRORED = {"strategy": "mirrored", "workers": 1}
CPU_BUILD = {**GPUS, "tensorflow_uses_gpus": False}


def plan(facts=None, **options):
    machine = MachineFacts(**{"host": "h", "cpus": (0, 1, 2, 3), "gpus_source": "a test", **(facts or {})})
    return make_plan(RunOptions(target="train.py", **options), machine, cwd="/", drawn_seed=99)


def decisions(made):
    return {decision.name: decision for decision in made.decisions}


@pytest.mark.parametrize(
    ("facts", "options", "transport", "reason", "is_fallback"),
    [
        (MPI, {"workers": 1}, "none", "^one worker$", False),
        (MPI, TWO, "mpi", "shared memory, no port", False),
        (MPI, {**TWO, "communication": "mpi"}, "mpi", "asked for", False),
        ({}, TWO, "ring", "mpi4py and mpich not installed", True),
        ({"mpi4py": "4.1"}, TWO, "ring", "mpich not installed", True),
        (MPI, {**TWO, "communication": "ring"}, "ring", "asked for", False),
        ({**MPI, "shared_memory_bytes": 12 * 2**20}, TWO, "mpi", "shared memory", False),
        ({**MPI, "shared_memory_bytes": 12 * 2**20}, {"workers": 3}, "ring", "12 MiB are free", True),
        ({**MPI, "shared_memory_bytes": 0}, TWO, "ring", "0 MiB are free", True),
        ({**MPI, **GPUS}, {}, "nccl", r"RING over gRPC.*tensorflow#50178", False),
        (TWO_GPUS, TWO, "nccl", r"tensorflow#50178", False),
        (TWO_GPUS, {**TWO, "communication": "nccl"}, "nccl", "asked for", False),
        (TWO_GPUS, {**TWO, "communication": "ring"}, "ring", "asked for", False),
        ({**MPI, **TWO_GPUS}, {**TWO, "communication": "mpi"}, "mpi", "asked for", False),
        ({**MPI, **GPUS}, {**TWO, "devices": ()}, "mpi", "shared memory", False),
        ({**MPI, **CPU_BUILD}, TWO, "mpi", "shared memory", False),
        # One worker: what cannot have an effect still runs, and is shown.
        ({}, {"workers": 1, "communication": "mpi"}, "none", "--communication mpi is without effect", True),
        ({}, {"workers": 1, "communication": "nccl"}, "none", "one replica.*without effect", True),
        ({}, {"workers": 1, "communication": "one-device"}, "none", "one replica.*without effect", True),
        (GPUS, {**MIRRORED, "communication": "ring"}, "none", "between workers.*ring is without effect", True),
        (GPUS, {**MIRRORED, "communication": "one-device"}, "none", "^one worker$", False),
    ],
)
def test_transport(facts, options, transport, reason, is_fallback):
    made = plan(facts, **options)
    decision = decisions(made)["transport"]
    assert (made.transport, decision.value, decision.is_fallback) == (transport, transport, is_fallback)
    assert re.search(reason, decision.reason)


@pytest.mark.parametrize(
    ("facts", "options", "in_process"),
    [
        ({}, {"workers": 1}, None),
        (GPUS, {"workers": 1}, "nccl"),
        (GPUS, {"strategy": "one-device"}, None),
        (GPUS, {**MIRRORED, "devices": ("0",)}, None),
        (TWO_GPUS, TWO, None),
        (GPUS, MIRRORED, "nccl"),
        (GPUS, {"workers": 1, "replicas_per_worker": 4}, "nccl"),
        (GPUS, {**MIRRORED, "communication": "nccl"}, "nccl"),
        (GPUS, {**MIRRORED, "communication": "mpi"}, "nccl"),
        (GPUS, {**MIRRORED, "communication": "hierarchical"}, "hierarchical"),
        (GPUS, {**MIRRORED, "communication": "one-device"}, "one-device"),
        (CPU_BUILD, {**MIRRORED, "replicas_per_worker": 4}, "auto"),
        ({}, {**MIRRORED, "replicas_per_worker": 2}, "auto"),
        ({}, {**MIRRORED, "replicas_per_worker": 2, "communication": "ring"}, "auto"),
        ({}, {**MIRRORED, "replicas_per_worker": 2, "communication": "hierarchical"}, "hierarchical"),
        ({}, {**MIRRORED, "replicas_per_worker": 3, "communication": "one-device"}, "one-device"),
    ],
)
def test_in_one_process(facts, options, in_process):
    made = plan(facts, **options)
    decision = decisions(made).get("in_process")
    assert (decision and decision.value) == in_process
    assert made.step.communication == (in_process or "auto")


@pytest.mark.parametrize(
    ("facts", "options", "words"),
    [
        ({}, {**TWO, "communication": "mpi"}, "pip install mpi4py mpich"),
        (
            {**MPI, "shared_memory_bytes": 2**20},
            {**TWO, "communication": "mpi"},
            "1 MiB are free.*--communication ring",
        ),
        (MPI, {**TWO, "communication": "hierarchical"}, "replicas of one process.*nccl, ring, mpi"),
        (MPI, {**TWO, "communication": "one-device"}, "replicas of one process"),
        (MPI, {**TWO, "communication": "nccl"}, r"no GPU \(a test\).*--communication auto"),
        (CPU_BUILD, {**TWO, "communication": "nccl"}, r"tensorflow-cpu is installed.*tensorflow\[and-cuda\]"),
        (CPU_BUILD, {**TWO, "communication": "nccl", "devices": ("0", "1")}, r"tensorflow-cpu.*tensorflow\[and-cuda\]"),
        (GPUS, {**TWO, "communication": "nccl", "devices": ()}, "asked for with --devices.*--communication auto"),
        (GPUS, {"workers": 5, "communication": "nccl"}, "more workers than GPUs"),
        ({}, {**MIRRORED, "replicas_per_worker": 2, "communication": "nccl"}, "no GPU.*--communication auto"),
        (GPUS, {**MIRRORED, "devices": ("0", "1", "2"), "communication": "hierarchical"}, "lose one.*3 replicas"),
    ],
)
def test_what_cannot_work_is_refused_with_the_way_out(facts, options, words):
    with pytest.raises(ConfigurationRefused, match=f"(?s){words}"):
        plan(facts, **options)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"jit": ("auto", "default", False)}),
        ({"jit": "off"}, {"jit": ("off", "--jit", False)}),
        ({**TWO, "jit": "on"}, {"jit": ("on", "--jit", False)}),
        ({**TWO, "wire_dtype": "bfloat16"}, {"wire_dtype": ("bfloat16", "--wire-dtype", False)}),
        ({**TWO, "bucket_mb": 25.0}, {"bucket_mb": (25.0, "--bucket-mb", False)}),
        ({"wire_dtype": "float16"}, {"wire_dtype": ("float16", "without effect", True)}),
        ({**MIRRORED, "replicas_per_worker": 2, "wire_dtype": "float16"}, {"wire_dtype": ("float16", "effect", True)}),
        ({"bucket_mb": 0.5}, {"bucket_mb": (0.5, "without effect", True)}),
        ({**MIRRORED, "replicas_per_worker": 2, "bucket_mb": 0.5}, {"bucket_mb": (0.5, "--bucket-mb", False)}),
    ],
)
def test_what_was_chosen_for_a_step_has_a_reason(options, expected):
    made = decisions(plan(MPI, **options))
    for name, (value, reason, is_fallback) in expected.items():
        assert (made[name].value, made[name].is_fallback) == (value, is_fallback)
        assert reason in made[name].reason
    assert {"wire_dtype", "bucket_mb"} & set(made) == set(expected) - {"jit"}


def test_a_worker_is_told_what_was_chosen():
    chosen = {"wire_dtype": "bfloat16", "bucket_mb": 4.0, "jit": "on"}
    made = plan(MPI, workers=2, communication="ring", **chosen)
    assert made.job("/run", 0, ("a:1", "b:2"))["step"] == {
        "communication": "auto",
        **chosen,
        "ring": {"max_subdivs": 0, "chunk_bytes": 0, "channels": 1},
    }
    assert made.to_json()["step"]["wire_dtype"] == "bfloat16"
    alone = plan(**MIRRORED, replicas_per_worker=2, communication="one-device")
    assert alone.job("/run", 0, ())["step"]["communication"] == "one-device"


def test_the_options_of_a_step_stay_as_they_are():
    asked = StepOptions(communication="mpi", wire_dtype="float16", bucket_mb=1.0, jit="off")
    replicas = Replicas(num_workers=2, num_in_process=1, num_gpus=0, gpus_reason="")
    transport, step, _ = decide(asked, replicas, MachineFacts(host="h", cpus=(0,), **MPI))
    assert transport == "mpi"
    assert step == StepOptions(wire_dtype="float16", bucket_mb=1.0, jit="off")
