"""Which tuning a job takes, and the reason that a person reads."""

import pytest

from paceline.tuning.cache import Found
from paceline.tuning.choice import Choice
from paceline.tuning.ring import TENSORFLOWS_OWN, RingTuning
from paceline.tuning.taken import take

TUNED = RingTuning(max_subdivs=8)
FOUND = Found(path="/c.json", choice=Choice(tuning=TUNED, less_time=0.23), date="2026-11-30")
OWN = Found(path="/c.json", choice=Choice(tuning=TENSORFLOWS_OWN, less_time=0.0), date="2026-11-30")
QUICK = Found(path="/c.json", choice=FOUND.choice, date="2026-11-30", is_quick=True)
DAMAGED = Found(path="/c.json", fault="it is damaged: no JSON")


@pytest.mark.parametrize(
    ("asked", "found", "num_gpus", "tuning", "reason", "is_fallback"),
    [
        (None, None, 0, RingTuning(), "default; not measured here; paceline tune --workers 2 measures it", False),
        (
            *(None, FOUND, 0, TUNED),
            "measured by paceline tune on 2026-11-30: 23 % less time than TensorFlow's own setting",
            False,
        ),
        (None, OWN, 0, TENSORFLOWS_OWN, "on 2026-11-30: TensorFlow's own setting takes the least time", False),
        (None, QUICK, 0, TUNED, "measured by paceline tune --quick on 2026-11-30: 23 %", False),
        (None, DAMAGED, 0, RingTuning(), "/c.json is ignored: it is damaged: no JSON; paceline tune", True),
        (None, FOUND, 2, RingTuning(), "measures buffers of CPUs, and this job has GPUs", False),
        (RingTuning(channels=2), FOUND, 0, RingTuning(channels=2), "asked for by paceline tune", False),
    ],
)
def test_asked_beats_measured_beats_default(asked, found, num_gpus, tuning, reason, is_fallback):
    taken = take(asked, found, num_workers=2, num_gpus=num_gpus)
    assert (taken.tuning, taken.is_fallback) == (tuning, is_fallback)
    assert reason in taken.reason
