"""What is set before TensorFlow is imported, and what is left alone."""

import json

import pytest

from paceline.errors import ConfigurationRefused
from paceline.worker.environment import Threads, settings, threads
from paceline.worker.job import Assignment, read_assignment


def job(**changes):
    return {
        "schema": 1,
        "script": {"kind": "path", "target": "train.py", "argv": [], "cwd": "/"},
        "num_workers": 2,
        "cluster": {"worker": ["a:1", "b:2"]},
        "threads": {"intra_op": 3, "inter_op": 0},
        "devices": [[], []],
        "run_dir": "/runs/x",
        "attempt": 0,
        "env": {},
        **changes,
    }


def of(rank=1, environ=None, **changes):
    return settings(Assignment(job(**changes), rank), environ or {})


def test_tf_config_names_this_worker():
    config = json.loads(of()["TF_CONFIG"])
    assert config == {"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 1}}


def test_one_worker_has_no_tf_config():
    assert "TF_CONFIG" not in of(rank=0, num_workers=1, cluster={})


@pytest.mark.parametrize(
    ("rank", "devices", "visible"),
    [(1, [["0"], ["2", "3"]], "2,3"), (1, [[], []], ""), (0, [["2", "3"]], "2,3"), (0, [[]], ""), (0, [], None)],
)
def test_devices(rank, devices, visible):
    """An empty list hides every GPU; without a list nothing is hidden."""
    assert of(rank, devices=devices, num_workers=len(devices) or 1).get("CUDA_VISIBLE_DEVICES") == visible


def test_threads_the_person_set_are_kept():
    result = of(environ={"OMP_NUM_THREADS": "9"})
    assert "OMP_NUM_THREADS" not in result
    assert result["TF_NUM_INTRAOP_THREADS"] == result["OPENBLAS_NUM_THREADS"] == "3"
    assert "TF_NUM_INTEROP_THREADS" not in result


def test_env_of_the_job_wins():
    result = of(env={"TF_NUM_INTRAOP_THREADS": 7, "X": "y"}, environ={"X": "z"})
    assert result["TF_NUM_INTRAOP_THREADS"] == "7" and result["X"] == "y"


@pytest.mark.parametrize("where", ["environ", "env"])
@pytest.mark.parametrize(("name", "value"), [("KERAS_BACKEND", "jax"), ("TF_USE_LEGACY_KERAS", "1")])
def test_another_keras_is_refused(where, name, value):
    with pytest.raises(ConfigurationRefused, match=f"{name}={value}") as refused:
        of(**{where: {name: value}})
    assert refused.value.exit_code == 78


def test_logs_are_quiet_unless_asked():
    assert of()["TF_CPP_MIN_LOG_LEVEL"] == "2"
    assert "TF_CPP_MIN_LOG_LEVEL" not in of(environ={"TF_CPP_MIN_LOG_LEVEL": "0"})
    verbose = of(verbose_communication=True)
    assert "collective" in verbose["TF_CPP_VMODULE"]
    assert verbose["NCCL_DEBUG_FILE"] == "/runs/x/attempts/0/worker-1/nccl.log"


@pytest.mark.parametrize(
    ("content", "rank", "expected"),
    [
        (None, "0", "cannot be read"),
        ("{", "0", "no JSON"),
        ("[]", "0", "not of the form"),
        (json.dumps(job(schema=2)), "0", "schema 2"),
        (json.dumps(job()), "2", "no place"),
        (json.dumps(job()), "", "which job"),
    ],
)
def test_a_broken_job_is_refused_in_words(tmp_path, content, rank, expected):
    path = tmp_path / "job.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigurationRefused, match=expected):
        read_assignment({"PACELINE_JOB": str(path), "PACELINE_RANK": rank})


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, Threads(4, 4)),
        ({"TF_NUM_INTRAOP_THREADS": "2", "TF_NUM_INTEROP_THREADS": "3"}, Threads(2, 3)),
        ({"TF_NUM_INTRAOP_THREADS": "0", "TF_NUM_INTEROP_THREADS": "many"}, Threads(4, 4)),
    ],
)
def test_threads_of_tensorflow_are_the_variables_else_the_cores(environ, expected):
    assert threads(environ, 4) == expected
