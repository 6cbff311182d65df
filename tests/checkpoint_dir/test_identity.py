from pathlib import Path

from paceline.checkpoint_dir import identity

OPTIONS = {"wire_dtype": "float32", "bucket_mb": 0.0, "jit": "auto", "communication": "ring"}


def run(file=None, **changes):
    known = {"kind": "path", "target": "train.py", "argv": ["--epochs", "3"], "seed": 1, "options": OPTIONS}
    return identity.describe(file=file, **{**known, **changes})


def test_a_run_is_itself_also_from_another_folder():
    assert identity.differences(run(), run(target="/elsewhere/train.py")) == []
    assert identity.differences(run(), run(options={**OPTIONS, "communication": "mpi"})) == []


def test_a_script_that_was_changed_is_another_run(tmp_path):
    path = tmp_path / "train.py"
    path.write_text("a = 1\n")
    before = run(file=path)
    path.write_text("a = 2\n")
    (line,) = identity.differences(before, run(file=path))
    assert line.startswith("script: train.py has changed since")
    assert identity.differences(before, run(file=Path("gone"))) == []


def test_each_difference_is_a_line():
    now = run(target="other.py", argv=[], seed=2, options={**OPTIONS, "jit": "on"})
    assert identity.differences(run(), now) == [
        "script: train.py in the checkpoint directory, other.py now",
        "arguments: --epochs 3 in the checkpoint directory, none now",
        "seed: 1 in the checkpoint directory, 2 now",
        "--jit: auto in the checkpoint directory, on now",
    ]
