"""What an earlier run has left, and what becomes of it, before anything is started."""

import json
from pathlib import Path

import pytest

from paceline.checkpoint_dir import identity
from paceline.errors import ConfigurationRefused, UsageError
from paceline.launch import checkpointing
from paceline.launch.options import RunOptions


@pytest.fixture
def left(tmp_path):
    """Returns a folder with a script and an interrupted run's checkpoints."""
    script = tmp_path / "train.py"
    script.write_text("print(1)\n")
    options = {"wire_dtype": "float32", "bucket_mb": 0.0, "jit": "auto"}
    run = identity.describe(kind="path", target="train.py", argv=[], file=script, seed=77, options=options)
    (tmp_path / "ck/step-000000000005").mkdir(parents=True)
    (tmp_path / "ck/run.json").write_text(json.dumps({"schema": 1, **run, "state": "running"}))
    return tmp_path


def asked(**options):
    return RunOptions(target="train.py", **{"checkpoint_dir": "ck", **options})


def test_an_interrupted_run_is_gone_on_with_and_gives_its_seed(left):
    earlier = checkpointing.look(asked(), left)
    assert (earlier.seed, earlier.directory, earlier.aside) == (77, str(left / "ck"), False)


def test_never_moves_aside_what_is_there_and_removes_nothing(left):
    told = []
    earlier = checkpointing.look(asked(resume="never"), left)
    assert earlier.aside and earlier.run is None
    checkpointing.prepare(earlier, told.append)
    assert [path.name for path in (left / "ck").iterdir()] == ["earlier"]
    (aside,) = (left / "ck/earlier").iterdir()
    assert sorted(path.name for path in aside.iterdir()) == ["run.json", "step-000000000005"]
    assert str(aside) in told[0]
    assert not checkpointing.look(asked(), left).run


def test_checkpoints_of_nobody_knows_which_run_are_refused(left):
    (left / "ck/run.json").unlink()
    with pytest.raises(ConfigurationRefused, match=r"no run.json"):
        checkpointing.look(asked(), left)


def test_an_earlier_run_is_named_by_its_directory(left):
    runs = left / "runs/one"
    runs.mkdir(parents=True)
    step = {"communication": "auto", "wire_dtype": "bfloat16", "bucket_mb": 0.0, "jit": "auto"}
    plan = {"seed": 77, "step": step, "checkpoint": {"dir": str(left / "ck")}}
    (runs / "plan.json").write_text(json.dumps(plan))
    earlier = checkpointing.look(asked(checkpoint_dir=None, resume="runs/one"), left)
    assert earlier.options.wire_dtype == "bfloat16"
    assert Path(earlier.directory) == left / "ck" and earlier.seed == 77
    with pytest.raises(ConfigurationRefused, match="no run directory"):
        checkpointing.look(asked(resume="runs/two"), left)
    (runs / "plan.json").write_text(json.dumps({**plan, "checkpoint": None}))
    with pytest.raises(ConfigurationRefused, match="no checkpoints"):
        checkpointing.look(asked(resume="runs/one"), left)


@pytest.mark.parametrize(
    "options",
    [
        {"checkpoint_every": ("steps", 0)}, {"checkpoint_every": ("seconds", 0.0)}, {"keep_checkpoints": 0},
        {"keep_every_s": 0.0}, {"checkpoint_writers": "all"}, {"checkpoint_dir": " "}, {"resume": ""},
    ],
)  # fmt: skip
def test_numbers_that_mean_nothing_are_refused(options):
    with pytest.raises(UsageError):
        asked(**options)


def test_without_options_there_are_none(tmp_path):
    assert not RunOptions(target="train.py").has_checkpoints
    assert checkpointing.look(RunOptions(target="train.py"), tmp_path).directory is None
