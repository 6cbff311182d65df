"""The article's own programs, where the folder that holds them is named; ours with the same behaviours always run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ARTICLE = Path(os.environ.get("PACELINE_ARTICLE_DIR", "/nowhere"))
PROGRAMS = Path(__file__).resolve().parent / "programs"
pytestmark = pytest.mark.article
needs_article = pytest.mark.skipif(not ARTICLE.is_dir(), reason="PACELINE_ARTICLE_DIR names no folder")


@needs_article
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("program", "epochs"), [("mirrored_quick.py", 2), ("multi_worker_quick.py", 2)])
@pytest.mark.support(feature="the article's programs", strategy="multi-worker", transport="mpi")
def test_a_training_program_runs_unchanged(start, program, epochs, workers):
    result = start(str(ARTICLE / program), workers=workers).ok()
    assert result.out.count(f"Epoch {epochs}/{epochs}") == 1
    assert "loss:" in result.out
    assert f": {workers}" in result.out  # the number of replicas that the program prints


@pytest.fixture(scope="module")
def fragments(start):
    return {n: start("fragments.py", str(ARTICLE if ARTICLE.is_dir() else PROGRAMS), workers=n).ok() for n in (1, 2)}


@pytest.mark.support(feature="mixed precision with clipnorm", strategy="multi-worker", transport="mpi")
@pytest.mark.support(feature="TFRecord pipeline of the script", strategy="multi-worker", transport="mpi")
@pytest.mark.support(feature="tf.profiler in the script", strategy="multi-worker", transport="mpi")
def test_communication_pipeline_precision_and_profiler(fragments):
    for number, result in fragments.items():
        assert result.same("replicas") == number
        assert result.same("policy") == "mixed_float16"
        assert len(result.same("losses")) == 2
        assert result.same("steps") == 4
        result.same("digest")
        assert result.notes(r"MirroredStrategy\(\) returns.*cross_device_ops=NcclAllReduce")
    assert "OpKernel" not in fragments[2].text


def test_the_profilers_files_are_there(fragments):
    assert list((fragments[1].folder / "logdir").rglob("*.xplane.pb"))
    assert list((fragments[2].folder / "logdir").rglob("*.xplane.pb"))


def test_two_workers_lose_what_one_loses(fragments):
    one, two = fragments[1].same("losses"), fragments[2].same("losses")
    # float16 activations and gradients: three decimal digits
    assert two == pytest.approx(one, rel=5e-3)
