"""Which name a worker's cache file has."""

import pathlib

import pytest
import tensorflow as tf

from paceline.data.caches import own_name


def as_text(name):
    return name.numpy().decode() if tf.is_tensor(name) else name


@pytest.mark.parametrize("name", ["a/b", b"a/b", tf.constant("a/b")])
def test_a_name_gets_the_worker_at_its_end(name):
    assert as_text(own_name(name, 3)) == "a/b-worker-3"


@pytest.mark.parametrize("name", ["", b"", tf.constant(""), None, 7, pathlib.Path("a"), tf.constant(7)])
def test_what_names_no_file_is_left_to_tensorflow(name):
    assert own_name(name, 3) is name


@pytest.mark.parametrize(("name", "expected"), [("a/b", "a/b-worker-3"), ("", "")])
def test_a_name_that_is_known_later(name, expected):
    later = tf.function(lambda text: own_name(text, 3))
    assert as_text(later(tf.constant(name))) == expected
