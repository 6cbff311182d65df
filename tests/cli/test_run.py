import subprocess
import sys
from pathlib import Path

import pytest

from paceline import versions
from paceline.launch.options import RunOptions


def test_without_options_everything_is_left_to_be_decided(call, script):
    assert call("run", script).asked == [RunOptions(target=script)]


def test_every_option_arrives(call, script):
    result = call(
        *("run", "--workers", "2", "--strategy", "multi-worker", "--replicas-per-worker", "1", "--devices", "2,3"),
        *("--communication", "ring", "--run-dir", "out", "--seed", "7", "--env", "A=1", "--env", "B=x=y"),
        *("--wire-dtype", "bfloat16", "--bucket-mb", "2.5", "--jit", "off"),
        *("--start-timeout", "1m30s", "--grace", "10", "--all-output", "--verbose-communication", "--dry-run"),
        *(script, "--epochs", "3"),
    )
    assert result.asked == [
        RunOptions(
            target=script,
            script_args=("--epochs", "3"),
            workers=2,
            strategy="multi-worker",
            replicas_per_worker=1,
            devices=("2", "3"),
            communication="ring",
            wire_dtype="bfloat16",
            bucket_mb=2.5,
            jit="off",
            run_dir="out",
            seed=7,
            env=(("A", "1"), ("B", "x=y")),
            start_timeout_s=90.0,
            grace_s=10.0,
            all_output=True,
            verbose_communication=True,
            dry_run=True,
        )
    ]


def test_options_behind_the_script_are_taken_and_said(call, script):
    result = call("run", script, "--workers", "2", "--epochs", "3")
    assert (result.asked[0].workers, result.asked[0].script_args) == (2, ("--epochs", "3"))
    assert "took --workers 2" in result.err


def test_options_of_a_step_behind_the_script_are_taken_unless_it_has_them(call, tmp_path):
    path = tmp_path / "train.py"
    path.write_text("import argparse\np = argparse.ArgumentParser()\np.add_argument('--jit', action='store_true')\n")
    words = ("--communication=one-device", "--wire-dtype", "float16", "--bucket-mb", "25", "--jit", "--epochs", "3")
    asked = call("run", "--jit", "on", str(path), *words).asked[0]
    assert (asked.communication, asked.wire_dtype, asked.bucket_mb, asked.jit) == ("one-device", "float16", 25.0, "on")
    assert asked.script_args == ("--jit", "--epochs", "3")


def test_an_option_that_the_script_has_is_left_to_it_and_said(call, tmp_path):
    path = tmp_path / "train.py"
    path.write_text("import argparse\np = argparse.ArgumentParser()\np.add_argument('--seed')\n")
    result = call("run", "--seed", "1", str(path), "--seed", "2", "--workers", "2")
    assert (result.asked[0].seed, result.asked[0].script_args, result.asked[0].workers) == (1, ("--seed", "2"), 2)
    assert "left --seed" in result.err


def test_quiet_says_nothing(call, script):
    assert call("run", script, "--workers", "2", "--quiet").err == ""


def test_no_gpu_at_all(call, script):
    assert call("run", "--devices", "", script).asked[0].devices == ()


def test_a_module(call):
    result = call("run", "-m", "pkg.train", "x")
    assert (result.asked[0].target, result.asked[0].module, result.asked[0].script_args) == ("pkg.train", True, ("x",))


def test_a_folder_with_main_is_a_script(call, tmp_path):
    (tmp_path / "__main__.py").write_text("")
    assert call("run", str(tmp_path)).code == 0


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        ((), 2, "nothing to run"),
        (("--workers", "2"), 2, "nothing to run"),
        (("-m",), 2, "nothing to run"),
        (("trian.py",), 2, "train.py"),
        (("folder",), 2, "__main__.py"),
        (("x" * 300 + ".py",), 2, "too long"),
        (("/dev/null",), 2, "no regular file"),
        (("train.py", "--run-dir", ""), 2, "no name"),
        (("train.py", "--workers", "0"), 2, "--workers 0"),
        (("train.py", "--workers", "two"), 2, "two"),
        (("train.py", "--workers"), 2, "--workers"),
        (("--strategy", "best", "train.py"), 2, "best"),
        (("--strategy", "tpu", "train.py"), 78, "later version"),
        (("--strategy", "parameter-server", "train.py"), 78, "later version"),
        (("--strategy", "mirrored", "--workers", "2", "train.py"), 78, "one process"),
        (("--workers", "2", "--replicas-per-worker", "3", "train.py"), 78, "--workers 6"),
        (("--communication", "smoke", "train.py"), 2, "hierarchical"),
        (("--wire-dtype", "float8", "train.py"), 2, "bfloat16"),
        (("--jit", "maybe", "train.py"), 2, "maybe"),
        (("--bucket-mb", "big", "train.py"), 2, "big"),
        (("train.py", "--bucket-mb", "-1"), 2, "--bucket-mb -1.0"),
        (("train.py", "--bucket-mb", "nan"), 2, "buckets have a size"),
        (("train.py", "--bucket-mb", "1e308"), 2, "buckets have a size"),
        (("--start-timeout", "soon", "train.py"), 2, "soon"),
        (("--start-timeout", "0", "train.py"), 2, "waits forever"),
        (("--env", "A", "train.py"), 2, "NAME=VALUE"),
        (("--env", "TF_CONFIG={}", "train.py"), 78, "TF_CONFIG"),
        (("--env", "CUDA_VISIBLE_DEVICES=1,2", "train.py"), 78, "fix:      --devices 1,2"),
        (("--env", "CUDA_VISIBLE_DEVICES=", "train.py"), 78, "fix:      --devices ''"),
        (("--devices", "1,1", "train.py"), 2, "twice"),
        (("--devices", "cpu", "train.py"), 2, "GPU id"),
        (("--quiet", "--all-output", "train.py"), 2, "contradict"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(call, script, monkeypatch, args, code, words):
    folder = Path(script).parent
    monkeypatch.chdir(folder)
    (folder / "folder").mkdir()
    result = call("run", *args)
    assert (result.code, result.asked) == (code, [])
    assert words in result.err
    assert "Traceback" not in result.err


def test_a_folder_that_is_gone_is_named(call, tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    result = call("run", "train.py")
    assert (result.code, result.asked) == (78, [])
    assert "does not exist any more" in result.err


def test_the_code_is_right_where_nobody_can_be_told(script):
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "paceline", "run", "not_there.py"]
        assert subprocess.run(command, stderr=full, check=False).returncode == 2


def with_keras(version):
    return lambda: versions.Installed(python="3.13.0", tensorflow="2.21.0", keras=version, distributions={})


def test_versions_that_are_known_to_be_wrong_start_nothing(call, script, monkeypatch):
    monkeypatch.setattr(versions, "installed", with_keras("3.7.0"))
    result = call("run", script)
    assert (result.code, result.asked) == (78, [])
    assert "Keras 3.7.0" in result.err and "pip install" in result.err


def test_a_dry_run_with_them_is_warned(call, script, monkeypatch):
    monkeypatch.setattr(versions, "installed", with_keras("3.7.0"))
    result = call("run", "--dry-run", script)
    assert (result.code, len(result.asked)) == (0, 1)
    assert "warning: Keras 3.7.0" in result.err


def test_versions_that_are_likely_to_work_are_warned_of(call, script, monkeypatch):
    monkeypatch.setattr(versions, "installed", with_keras("3.16.0"))
    result = call("run", script)
    assert (result.code, len(result.asked)) == (0, 1)
    assert "likely to work" in result.err


def test_tested_versions_are_no_news(call, script):
    assert call("run", script).err == ""


def test_a_variable_for_the_workers_is_judged_too(call, script):
    assert call("run", "--env", "KERAS_BACKEND=jax", script).code == 78


def test_help_behind_the_script_is_the_scripts(call, script):
    assert call("run", script, "--help").asked[0].script_args == ("--help",)


def test_the_command_can_be_run():
    command = [sys.executable, "-m", "paceline", "run", "no-such-script.py", "--workers", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no-such-script.py" in done.stderr
    assert done.stdout == ""
