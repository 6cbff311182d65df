"""Where the replicas of a worker live, from job.json and the number of GPUs alone."""

import pytest

from paceline.errors import ConfigurationRefused
from paceline.session.devices import choose_devices

ONE = {"num_workers": 1, "strategy": "auto", "replicas_per_worker": 1}
TWO = {**ONE, "num_workers": 2}


@pytest.mark.parametrize(
    ("job", "num_gpus", "expected"),
    [
        ({**ONE, "devices": [["2"]]}, 1, ("/gpu:0",)),
        ({**ONE, "replicas_per_worker": 2, "devices": [["2", "3"]]}, 2, ("/gpu:0", "/gpu:1")),
        ({**ONE, "devices": [[]]}, 0, ("/cpu:0",)),
        ({**ONE, "replicas_per_worker": 2, "devices": []}, 0, ("/cpu:0", "/cpu:1")),
        # The launcher knew of no GPU; TensorFlow finds some.
        ({**ONE, "devices": []}, 1, ("/gpu:0",)),
        ({**ONE, "devices": []}, 3, ("/gpu:0", "/gpu:1", "/gpu:2")),
        ({**ONE, "devices": [], "strategy": "mirrored"}, 2, ("/gpu:0", "/gpu:1")),
        ({**ONE, "devices": [], "strategy": "one-device"}, 3, ("/gpu:0",)),
        ({**ONE, "devices": [], "replicas_per_worker": 3}, 3, ("/gpu:0", "/gpu:1", "/gpu:2")),
        (TWO, 2, ("/gpu:0",)),
        ({**TWO, "devices": [["0"], ["1"]]}, 1, ("/gpu:0",)),
        ({**TWO, "devices": [[], []]}, 0, ("/cpu:0",)),
        ({"num_workers": 1}, 0, ("/cpu:0",)),
    ],
)
def test_devices(job, num_gpus, expected):
    assert choose_devices(job, 0, num_gpus) == expected


@pytest.mark.parametrize(
    ("job", "num_gpus", "words"),
    [
        ({**ONE, "devices": [["0"]]}, 0, "0 in tf.config.*given: 0"),
        ({**ONE, "replicas_per_worker": 2, "devices": [["0", "1"]]}, 1, "1 in tf.config.*given: 0,1"),
        ({**TWO, "devices": [["0"], ["1"]]}, 0, 'paceline doctor, or --devices ""'),
        ({**ONE, "replicas_per_worker": 2, "devices": []}, 3, "--replicas-per-worker 3"),
    ],
)
def test_gpus_other_than_those_of_the_job_are_refused(job, num_gpus, words):
    with pytest.raises(ConfigurationRefused, match=f"(?s){words}"):
        choose_devices(job, 0, num_gpus)
