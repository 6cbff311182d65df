"""The file of a measurement: what is written is found again, and what is of no use is named and not used."""

import json
import os
from dataclasses import replace

import pytest

from paceline.errors import ConfigurationRefused
from paceline.tuning import cache
from paceline.tuning.choice import Choice, Contestant, Measured
from paceline.tuning.ring import RingTuning

SITE = cache.Site(hosts=("h",), tensorflow="2.21.0", paceline="0.1.0", cpu_model="AMD EPYC")
TUNING = RingTuning(max_subdivs=8, chunk_bytes=-1, channels=4)
CHOICE = Choice(tuning=TUNING, less_time=0.25)
RECORD = cache.Record(
    site=SITE,
    num_workers=2,
    results=(
        Measured(contestant=Contestant(transport="ring", tuning=TUNING), times_s={4: 0.5, 64: 0.75}),
        Measured(contestant=Contestant(transport="mpi"), times_s={4: 0.25, 64: 0.5}),
    ),
    choice=CHOICE,
    measured="2026-11-30T12:00:00+00:00",
    is_quick=False,
)


@pytest.fixture
def environ(tmp_path):
    return {"XDG_CACHE_HOME": str(tmp_path)}


@pytest.fixture
def stored(environ):
    path = cache.make_folder(environ) / SITE.file_name(2)
    cache.store(path, RECORD)
    return path


def test_what_is_stored_is_found(environ, stored):
    expected = cache.Found(path=str(stored), choice=CHOICE, date="2026-11-30")
    assert cache.find(environ, SITE) == {2: expected}
    assert [path.name for path in stored.parent.iterdir()] == [stored.name]
    cache.store(stored.with_name(SITE.file_name(16)), replace(RECORD, num_workers=16, is_quick=True))
    found = cache.find(environ, SITE)
    assert set(found) == {2, 16}
    assert (found[16].is_quick, found[2].is_quick) == (True, False)


def test_the_file_holds_times_too(stored):
    content = json.loads(stored.read_text())
    assert content["key"] == {
        "hosts": ["h"],
        "num_workers": 2,
        "tensorflow": "2.21.0",
        "paceline": "0.1.0",
        "cpu_model": "AMD EPYC",
    }
    assert content["results"][1] == {"transport": "mpi", "tuning": None, "times_s": [[4, 0.25], [64, 0.5]]}
    assert content["choice"]["reason"] == CHOICE.reason


@pytest.mark.parametrize(
    "change",
    [
        {"hosts": ("g",)},
        {"hosts": ("h", "g")},
        {"tensorflow": "2.19.1"},
        {"paceline": "0.2.0"},
        {"cpu_model": "AMD EPYC 2"},
        {"cpu_model": "\udcff"},
    ],
)
def test_another_place_or_version_has_a_file_of_its_own(environ, stored, change):
    other = replace(SITE, **change)
    assert other.file_name(2) != SITE.file_name(2)
    assert cache.find(environ, other) == {}


def test_nothing_measured_is_nothing_found(environ):
    assert cache.find(environ, SITE) == {}
    assert cache.find({}, SITE) == {}


def changed(**values):
    return json.dumps({**RECORD.to_json(), **values}).encode()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "damaged"),
        (b"{", "damaged"),
        (b"\xff\xfe", "damaged"),
        (b"[" * 200_000, "damaged"),
        (b"[]", "damaged"),
        (b"null", "damaged"),
        (b"{}", "damaged: KeyError: 'schema'"),
        (changed(schema=2), "schema 2, this paceline reads 1"),
        (changed(key={**RECORD.to_json()["key"], "num_workers": 3}), "another num_workers"),
        (changed(key={"hosts": ["g"]}), "another hosts and tensorflow"),
        (changed(key=[]), "damaged"),
        (changed(choice=None), "damaged"),
        (changed(choice={"tuning": {"channels": 0}, "less_time": 0.5}), "damaged: channels: 0"),
        (changed(choice={"tuning": {"lanes": 1}, "less_time": 0.5}), "lanes"),
        (changed(choice={"tuning": {}, "less_time": 7}), "less_time is 7"),
        (changed(choice={"tuning": {}, "less_time": float("nan")}), "less_time is nan"),
        (changed(measured="\x1b[31m"), "damaged"),
        (changed(measured=5), "damaged"),
    ],
)
def test_a_file_of_no_use_is_named(environ, stored, content, words):
    stored.write_bytes(content)
    found = cache.find(environ, SITE)[2]
    assert found.choice is None
    assert words in found.fault
    assert found.path == str(stored)


def test_what_is_no_file_is_not_read(environ, stored):
    stored.unlink()
    os.mkfifo(stored)  # reading it would wait for ever
    stored.with_name(SITE.file_name(4)).mkdir()
    stored.with_name(SITE.file_name("x")).touch()
    stored.with_name(f".{stored.name}.1.tmp").touch()
    assert cache.find(environ, SITE) == {}


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/paceline/tune"),
        ({"XDG_CACHE_HOME": "", "HOME": "/h"}, "/h/.cache/paceline/tune"),
        ({"XDG_CACHE_HOME": "x", "HOME": "/h"}, "/h/.cache/paceline/tune"),
        ({"HOME": "/h"}, "/h/.cache/paceline/tune"),
        ({"HOME": "h"}, None),
        ({}, None),
    ],
)
def test_the_folder(environ, expected):
    found = cache.folder(environ)
    assert (None if found is None else str(found)) == expected


def test_no_place_for_the_file_is_refused(tmp_path):
    (tmp_path / "file").touch()
    for environ in ({}, {"XDG_CACHE_HOME": str(tmp_path / "file")}):
        with pytest.raises(ConfigurationRefused, match="XDG_CACHE_HOME="):
            cache.make_folder(environ)
    with pytest.raises(ConfigurationRefused, match="No such file"):
        cache.store(tmp_path / "gone" / "x.json", RECORD)
