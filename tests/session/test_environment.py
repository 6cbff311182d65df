"""What is said of variables that a script sets too late, from what it sets and what is in effect alone."""

import pytest

from paceline.session.environment import explain

STARTED = {"CUDA_VISIBLE_DEVICES": "0", "TF_NUM_INTRAOP_THREADS": "2"}


@pytest.mark.parametrize(
    ("started", "name", "value", "words"),
    [
        (STARTED, "TF_NUM_INTRAOP_THREADS", "2", ""),
        (STARTED, "TF_NUM_INTRAOP_THREADS", "4", "paceline run --env TF_NUM_INTRAOP_THREADS=4"),
        (STARTED, "TF_ENABLE_ONEDNN_OPTS", "0", "paceline run --env TF_ENABLE_ONEDNN_OPTS=0"),
        (STARTED, "CUDA_VISIBLE_DEVICES", "0", ""),
        (STARTED, "CUDA_VISIBLE_DEVICES", "1", "paceline run --devices"),
        ({}, "CUDA_VISIBLE_DEVICES", "-1", ""),
        ({}, "CUDA_VISIBLE_DEVICES", "0", ""),
        ({"CUDA_VISIBLE_DEVICES": ""}, "CUDA_VISIBLE_DEVICES", "-1", ""),
        ({"CUDA_VISIBLE_DEVICES": ""}, "CUDA_VISIBLE_DEVICES", "0", "paceline run --devices"),
        (STARTED, "TF_CPP_MIN_LOG_LEVEL", "3", ""),
        (STARTED, "MY_OWN", "3", ""),
    ],
)
def test_what_is_without_effect_is_named_with_the_option_that_does_it(started, name, value, words):
    text = explain(started, name, value)
    assert (words in text and "without effect" in text) if words else not text


def test_gpus_that_are_there_are_not_hidden():
    text = explain({}, "CUDA_VISIBLE_DEVICES", "-1", sees_gpus=True)
    assert '--devices "" hides them' in text
    assert not explain({}, "CUDA_VISIBLE_DEVICES", "-1", sees_gpus=False)
