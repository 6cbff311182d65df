"""What a worker refuses by itself, because only TensorFlow knows."""

from __future__ import annotations

import pytest
import tensorflow as tf

from paceline.collectives import ring
from paceline.collectives.transport import Alone, NoWatch
from paceline.errors import ConfigurationRefused, UsageError
from paceline.session.compose import Session
from paceline.step_options import StepOptions
from paceline.strategies.job import JobStrategy
from paceline.strategies.local import LocalStrategy
from paceline.tuning.ring import RingTuning

JOB = {"num_workers": 2, "transport": "nccl", "run_dir": "/run", "attempt": 0, "cluster": {"worker": ["a:1", "b:2"]}}


def session(**changes):
    return Session({**JOB, **changes}, 0, None, None)


def test_nccl_without_a_gpu_in_tensorflow_is_refused(monkeypatch):
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [])
    with pytest.raises(ConfigurationRefused, match="TensorFlow sees none here"):
        session()._transport(NoWatch())


def test_an_unknown_transport_is_refused():
    with pytest.raises(ConfigurationRefused, match="'pigeon' in job"):
        session(transport="pigeon")._transport(NoWatch())


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        ({}, StepOptions()),
        ({"step": {}}, StepOptions()),
        ({"step": {"jit": "on"}}, StepOptions(jit="on")),
        (
            {"step": {"communication": "nccl", "wire_dtype": "float16", "bucket_mb": 2.0, "jit": "off"}},
            StepOptions(communication="nccl", wire_dtype="float16", bucket_mb=2.0, jit="off"),
        ),
    ],
)
def test_a_job_with_and_without_step_options_is_read(job, expected):
    assert session(**job).step == expected


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ({}, RingTuning()),
        ({"ring": {}}, RingTuning()),
        (
            {"ring": {"max_subdivs": 8, "chunk_bytes": -1, "channels": 4}},
            RingTuning(max_subdivs=8, chunk_bytes=-1, channels=4),
        ),
    ],
)
def test_ring_is_tuned_as_the_job_says(monkeypatch, step, expected):
    made = []
    monkeypatch.setattr(ring.RingTransport, "__init__", lambda self, *args, **named: made.append(named))
    chosen = session(transport="ring", step={**step, "jit": "on"})
    chosen._transport(NoWatch())
    assert made == [{"hint": "ring", "tuning": expected}]
    assert chosen.step == StepOptions(jit="on")


def test_bad_step_options_are_refused():
    with pytest.raises(UsageError, match="--jit maybe"):
        session(step={"jit": "maybe"})


@pytest.mark.parametrize(
    ("communication", "devices", "words"),
    [("nccl", ["/cpu:0", "/cpu:1"], "TensorFlow sees none"), ("hierarchical", ["/cpu:0"] * 3, "3 replicas")],
)
def test_replicas_that_cannot_be_summed_so_are_refused_on_the_devices_that_are_there(communication, devices, words):
    with pytest.raises(ConfigurationRefused, match=words):
        LocalStrategy.create(devices, StepOptions(communication=communication))


def test_one_device_of_one_worker_is_the_jobs_own_strategy():
    assert isinstance(session(num_workers=1, cluster={})._strategy(Alone(), ["/cpu:0"]), JobStrategy)


def test_several_devices_of_one_worker_are_mirrored(monkeypatch):
    monkeypatch.setattr(LocalStrategy, "create", lambda devices, options: ("mirrored", devices, options))
    made = session(num_workers=1, cluster={}, step={"jit": "on"})._strategy(Alone(), ["/gpu:0", "/gpu:1"])
    assert made == ("mirrored", ["/gpu:0", "/gpu:1"], StepOptions(jit="on"))


class Said(list):
    """A journal that keeps what the person is told."""

    def event(self, kind, text):
        self.append((kind, text))


@pytest.mark.parametrize(("strategy", "number"), [("auto", 2), ("one-device", 1)])
def test_gpus_of_which_the_launcher_knew_nothing_are_used_and_said(monkeypatch, strategy, number):
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: ["a", "b"] if kind == "GPU" else [])
    grown = []
    monkeypatch.setattr(tf.config.experimental, "set_memory_growth", lambda gpu, on: grown.append(gpu))
    said = Said()
    made = Session({**JOB, "num_workers": 1, "strategy": strategy, "replicas_per_worker": 1}, 0, said, None)
    assert made._devices() == ("/gpu:0", "/gpu:1")[:number]
    assert grown == ["a", "b"]
    assert len(said) == number - 1 and all("2 GPUs" in text for _, text in said)
