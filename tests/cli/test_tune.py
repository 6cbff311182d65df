"""The command: table or JSON, and the file that it leaves; the launcher is a stand-in that writes times."""

import json
import sys
from pathlib import Path

import pytest

from paceline.launch import facts
from paceline.tuning import cache
from paceline.tuning.ring import RingTuning

FASTEST = RingTuning(max_subdivs=8, chunk_bytes=2**20, channels=4)


@pytest.fixture
def tune(call, monkeypatch, tmp_path):
    """Calls ``paceline tune``; jobs end at once, and ``FASTEST`` takes half the time of the others."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def run(options):
        out, work = options.script_args
        time_s = 0.001 if options.ring == FASTEST else 0.002
        Path(out).write_text(json.dumps([[size, time_s] for size, _ in json.loads(work)]))
        return 0

    monkeypatch.setattr(sys.modules["paceline.launch.local"], "run", run)
    return lambda *args: call("tune", *args)


def kept(tmp_path):
    return sorted((tmp_path / "cache/paceline/tune").glob("*"))


def test_the_choice_is_shown_and_kept(tune, tmp_path):
    result = tune("--workers", "3", "--quick")
    assert result.code == 0
    assert "ring 3  max_subdivs 8, chunk_bytes 1048576, channels 4  1.00  <- chosen" in result.out
    assert f"chosen: {FASTEST}: 50 % less time than TensorFlow's own setting" in result.out
    assert "rule: the least mean" in result.out
    # 2(N-1)/N of 4 MB in a millisecond, 3 workers
    assert "5.59 GB/s" in result.out
    (path,) = kept(tmp_path)
    assert result.out.splitlines()[-1] == f"kept in {path}"
    found = cache.find({"XDG_CACHE_HOME": str(tmp_path / "cache")}, facts.site())
    assert (found[3].choice.tuning, found[3].is_quick) == (FASTEST, True)


def test_json_is_what_is_kept(tune, tmp_path):
    printed = json.loads(tune("--json").out)
    (path,) = kept(tmp_path)
    assert printed.pop("file") == str(path)
    assert printed == json.loads(path.read_text())
    assert (printed["key"]["num_workers"], printed["quick"]) == (2, False)
    assert {len(result["times_s"]) for result in printed["results"]} == {13}


def test_mpi_alone_leaves_nothing(tune, tmp_path):
    result = tune("--communication", "mpi", "--quick")
    assert (result.code, kept(tmp_path)) == (0, [])
    assert "nothing is kept" in result.out and "chosen" not in result.out
    assert json.loads(tune("--communication", "mpi", "--json").out)["choice"] is None


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("--workers", "1"), 2, "one worker has nothing to sum"),
        (("--workers", "two"), 2, "two"),
        (("--communication", "nccl"), 2, "nccl"),
        (("train.py",), 2, "train.py"),
    ],
)
def test_nonsense_is_usage(tune, tmp_path, args, code, words):
    result = tune(*args)
    assert (result.code, kept(tmp_path)) == (code, [])
    assert words in result.err


def test_no_place_to_keep_it_is_refused_before_anything_is_measured(tune, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    result = tune()
    assert result.code == 78
    assert "Not a directory" in result.err and "measuring" not in result.err
