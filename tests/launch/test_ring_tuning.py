"""RING's tuning in the plan: a fact of the cache becomes a decision, and a part of job.json."""

import json
from dataclasses import asdict, replace

import pytest

from paceline.launch import facts
from paceline.launch.options import RunOptions
from paceline.launch.plan import make_plan
from paceline.tuning import cache
from paceline.tuning.choice import Choice
from paceline.tuning.ring import RingTuning

TUNED = RingTuning(max_subdivs=8, chunk_bytes=2**20, channels=4)
FOUND = cache.Found(path="/c.json", choice=Choice(tuning=TUNED, less_time=0.5), date="2026-11-30")
RING = {"communication": "ring", "workers": 2}


def plan(found=None, known=None, **options):
    machine = facts.MachineFacts(
        **{
            "host": "h",
            "cpus": (0, 1, 2, 3),
            "gpus_source": "a test",
            "mpi4py": "4.1",
            "mpich": "5.0",
            **(known or {}),
        },
        ring_tunings=found or {},
    )
    return make_plan(RunOptions(target="train.py", **options), machine, cwd="/", drawn_seed=99)


def tunings(made):
    return [decision for decision in made.decisions if decision.name == "ring tuning"]


def told(made):
    return made.job("/run", 0, ("a:1", "b:2"))["step"].get("ring")


def test_what_was_measured_for_so_many_workers_is_taken():
    made = plan({2: FOUND, 3: replace(FOUND, choice=Choice(tuning=RingTuning(), less_time=0.1))}, **RING)
    (decision,) = tunings(made)
    assert decision.value == told(made) == asdict(TUNED)
    assert decision.reason.startswith("measured by paceline tune on 2026-11-30: 50 %")
    assert not decision.is_fallback
    assert json.loads(json.dumps(made.to_json()))["ring"] == asdict(TUNED)


@pytest.mark.parametrize("found", [{}, {3: FOUND}])
def test_what_was_not_measured_is_the_default(found):
    made = plan(found, **RING)
    (decision,) = tunings(made)
    assert told(made) == asdict(RingTuning())
    assert "not measured here" in decision.reason and not decision.is_fallback


def test_a_file_of_no_use_is_shown():
    made = plan({2: cache.Found(path="/c.json", fault="it is damaged")}, **RING)
    assert tunings(made)[0].is_fallback
    assert told(made) == asdict(RingTuning())


@pytest.mark.parametrize(
    ("known", "options"),
    [
        ({}, {"workers": 2}),
        ({}, {"workers": 2, "communication": "mpi"}),
        ({}, {"workers": 1, "communication": "ring"}),
        ({"gpus": ("0", "1")}, {"workers": 2}),
    ],
)
def test_without_ring_there_is_nothing_to_tune(known, options):
    made = plan({1: FOUND, 2: FOUND}, known, **options)
    assert (tunings(made), told(made), made.ring) == ([], None, None)


def test_gpus_do_not_take_what_was_measured_on_cpus():
    made = plan({2: FOUND}, {"gpus": ("0", "1")}, **RING)
    assert told(made) == asdict(RingTuning())
    assert told(plan({2: FOUND}, {"gpus": ("0", "1")}, **RING, devices=())) == asdict(TUNED)


def test_what_paceline_tune_asks_for_wins():
    asked = RingTuning(channels=2)
    assert told(plan({2: FOUND}, **RING, ring=asked)) == asdict(asked)


def test_facts_hold_what_the_cache_has_for_this_site(tmp_path):
    environ = {"XDG_CACHE_HOME": str(tmp_path), "CUDA_VISIBLE_DEVICES": ""}
    site = facts.site()
    assert site.hosts == (facts.collect(environ).host,) and site.cpu_model
    folder = cache.make_folder(environ)
    (folder / site.file_name(2)).write_text("{")
    (folder / replace(site, paceline="0").file_name(3)).write_text("{")
    assert set(facts.collect(environ).ring_tunings) == {2}


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ("processor\t: 0\nmodel name\t: AMD EPYC: 7\nmodel name\t: other\n", "AMD EPYC: 7"),
        ("processor\t: 0\nCPU part\t: 0xd40\n", "0xd40"),
        ("", None),
        (None, None),
    ],
)
def test_the_processor_has_a_name(tmp_path, text, model):
    path = tmp_path / "cpuinfo"
    if text is not None:
        path.write_text(text)
    assert facts._cpu_model(path) == (model or facts.platform.machine())
