"""Input pipelines that TensorFlow runs in any order give every worker the same batches: those of one thread."""

from __future__ import annotations

import pytest

PIPELINES = ["tf.image", "layers", "generator", "map", "options", "files"]
MANY, ONE = "8", "1"


@pytest.fixture(scope="module")
def together(start):
    return start("pipelines.py", MANY).ok()


@pytest.fixture(scope="module")
def one_thread(start):
    return start("pipelines.py", ONE, plain=True).ok().facts[0]


@pytest.mark.parametrize("name", PIPELINES)
def test_workers_with_many_threads_read_what_one_thread_reads(together, one_thread, name):
    assert together.same(name) == one_thread[name]


@pytest.mark.parametrize("name", PIPELINES)
def test_after_a_look_at_the_data_they_are_fitted_alike(together, name):
    first, second = together.same(f"{name} loss")
    assert first != second


def test_what_a_script_asked_for_in_vain_is_said_once(together):
    assert len(together.notes("deterministic=False is taken as True")) == 1
