import pytest

from paceline.errors import ConfigurationRefused
from paceline.tuning.ring import TENSORFLOWS_OWN, TRIED, RingTuning


@pytest.mark.parametrize(
    "values",
    [
        {"max_subdivs": -2},
        {"chunk_bytes": -2},
        {"channels": 0},
        {"channels": 2**31},
        {"channels": 1.0},
        {"channels": True},
        {"max_subdivs": "8"},
        {"max_subdivs": None},
    ],
)
def test_what_tensorflow_does_not_take_is_refused(values):
    ((name, value),) = values.items()
    with pytest.raises(ConfigurationRefused, match=f"got: +{name}: {value!r}"):
        RingTuning(**values)


def test_what_is_tried_is_different_and_holds_what_it_is_compared_with():
    assert len(set(TRIED)) == len(TRIED) <= 6
    # The quick measurement takes the first three of them
    assert TENSORFLOWS_OWN in TRIED[:3] and RingTuning() in TRIED[:3]
