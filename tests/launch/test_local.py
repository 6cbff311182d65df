"""Whole jobs: output, exit codes, the run directory, what a worker is given."""

import json
import os
import pty
import select
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from paceline.errors import ConfigurationRefused
from paceline.launch.local import run
from paceline.launch.options import RunOptions

HERE = Path(__file__).parent


def test_chief_is_shown_and_all_are_kept(start_job):
    job = start_job({})
    assert job.finish() == 0
    assert job.out == "hello from 0\n"
    assert "whisper from 0\n" in job.err
    assert "from 1" not in job.err
    assert "2 workers on" in job.err and "tensors over ring" in job.err
    worker_1 = job.run_directory / "attempts/0/worker-1"
    assert (worker_1 / "stdout.log").read_text() == "hello from 1\n"
    assert (worker_1 / "stderr.log").read_text() == "whisper from 1\n"


def test_run_directory_holds_the_contract(start_job):
    job = start_job({}, seed=11)
    assert job.finish() == 0
    path = job.run_directory
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert path.name.endswith("-train")
    assert json.loads((path / "plan.json").read_text())["num_workers"] == 2
    decided = json.loads((path / "decisions.json").read_text())["decisions"]
    assert all(decision["reason"] for decision in decided)
    told = json.loads((path / "attempts/0/job.json").read_text())
    assert told["schema"] == 1 and told["seed"] == 11 and len(told["cluster"]["worker"]) == 2
    assert not list(path.rglob("*.tmp"))


def test_all_output_is_prefixed(start_job):
    job = start_job({}, all_output=True)
    assert job.finish() == 0
    assert sorted(job.out.splitlines()) == ["[0] hello from 0", "[1] hello from 1"]
    assert {"[0] whisper from 0", "[1] whisper from 1"} <= set(job.err.splitlines())


def test_quiet_says_nothing_of_its_own(start_job):
    job = start_job({}, quiet=True)
    assert job.finish() == 0
    assert job.err == "whisper from 0\n"


@pytest.mark.parametrize(
    ("behaviour", "code"),
    [("return:3", 3), ("exit:", 0), ("exit:5", 5), ("exit:sorry", 1), ("raise", 1), ("refuse", 78)],
)
def test_exit_code_is_the_scripts_own(start_job, behaviour, code):
    job = start_job({0: behaviour}, workers=1)
    assert job.finish() == code
    if behaviour == "exit:sorry":
        assert "sorry\n" in job.err
    if behaviour == "raise":
        assert "ValueError: boom on 0" in job.err and "runpy" not in job.err
    if behaviour == "refuse":
        assert "Traceback" not in job.err and "This cannot work." in job.err


def test_threads_of_a_script_are_waited_for(start_job):
    job = start_job({0: "threads"}, workers=1)
    assert job.finish() == 0
    assert job.out == "the thread has ended\n"


def test_what_a_worker_is_given(start_job):
    job = start_job({0: "show"}, seed=5, env=[("GREETING", "a b=c")], environ={"PMI_RANK": "9"})
    assert job.finish() == 0
    shown = json.loads(job.out)
    environ = shown["environ"]
    addresses = shown["job"]["cluster"]["worker"]
    assert json.loads(environ["TF_CONFIG"]) == {
        "cluster": {"worker": addresses},
        "task": {"type": "worker", "index": 0},
    }
    assert environ["GREETING"] == "a b=c"
    assert environ["PYTHONHASHSEED"] == "5"
    assert environ["KERAS_BACKEND"] == "tensorflow"
    assert "PMI_RANK" not in environ
    cores = len(os.sched_getaffinity(0))
    assert environ["TF_NUM_INTRAOP_THREADS"] == str(max(1, cores // 2))
    if cores >= 2:
        assert len(shown["cpus"]) == cores // 2


@pytest.mark.parametrize(("workers", "what"), [(1, "left out"), (2, "replaced")])
def test_a_tf_config_of_another_cluster_reaches_no_script(start_job, workers, what):
    other = json.dumps({"cluster": {"worker": ["far:1", "away:2"]}, "task": {"type": "worker", "index": 1}})
    job = start_job({0: "show"}, workers=workers, environ={"TF_CONFIG": other})
    assert job.finish() == 0
    seen = json.loads(job.out)["environ"].get("TF_CONFIG", "none")
    assert "far:1" not in seen and (seen == "none") == (workers == 1)
    assert job.err.count(f"paceline: tf_config: {what} (") == 1


def test_verbose_communication_goes_to_files(start_job):
    job = start_job({0: "native"}, verbose_communication=True)
    assert job.finish() == 0
    assert "from Python" in job.err and "I0000" not in job.err
    assert "I0000" in (job.run_directory / "attempts/0/worker-0/communication.log").read_text()


def test_only_the_chief_reads_stdin(start_job):
    job = start_job({0: "read", 1: "read"}, all_output=True, popen={"stdin": subprocess.PIPE})
    job.process.stdin.write(b"some data")
    job.process.stdin.close()
    job.process.stdin = None
    assert job.finish() == 0
    assert sorted(job.out.splitlines()) == ["[0] 0 read 'some data'", "[1] 1 read ''"]


@pytest.mark.parametrize("name", ["with space", "new\nline", "größe-训练", "quote'\"$x"])
def test_awkward_paths_and_arguments(start_job, tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    arguments = ["it's", '"quoted"', "a b", "", "$HOME", "new\nline", "ü"]
    job = start_job({0: "show"}, folder=folder, workers=1, run_dir=f"run {name}", more_args=arguments)
    assert job.finish() == 0
    shown = json.loads(job.out)
    assert shown["job"]["script"]["argv"][1:] == arguments
    assert shown["job"]["script"]["cwd"] == str(folder)


def test_a_run_directory_is_used_once(start_job):
    assert start_job({}, run_dir="here").finish() == 0
    again = start_job({}, run_dir="here")
    assert again.finish() == 78
    assert "holds a run already" in again.err


def test_two_runs_in_one_second_have_two_directories(start_job, tmp_path):
    jobs = [start_job({}, workers=1), start_job({}, workers=1)]
    assert [job.finish() for job in jobs] == [0, 0]
    assert len(list((tmp_path / "runs").iterdir())) == 2


def test_dry_run_starts_nothing(start_job, tmp_path):
    job = start_job({}, dry_run=True, seed=3)
    assert job.finish() == 0
    plan = json.loads(job.out)
    assert plan["num_workers"] == 2 and plan["seed"] == 3
    assert "paceline: transport: ring" in job.err
    assert not (tmp_path / "runs").exists()


def test_a_missing_script_is_refused_before_anything(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()
    with pytest.raises(ConfigurationRefused, match=r"did you mean train\.py"):
        run(RunOptions(target="trian.py"))
    assert not (tmp_path / "runs").exists()


def test_a_terminal_stays_a_terminal(start_job):
    """The chief sees a terminal of the same size, and its own progress line is not disturbed by the view."""
    ours, theirs = pty.openpty()
    subprocess.run(["stty", "rows", "33", "cols", "99"], stdin=theirs, check=True)
    job = start_job(
        {0: "terminal"},
        popen={"stdin": theirs, "stdout": theirs, "stderr": theirs},
        environ={"TERM": "xterm"},
    )
    os.close(theirs)
    seen = b""
    while select.select([ours], [], [], 10)[0]:
        try:
            seen += os.read(ours, 65536)
        except OSError:
            break
    os.close(ours)
    assert job.finish() == 0
    assert b"tty=True size=(99, 33)" in seen
    assert b"worker 0" in seen and b"worker 1" in seen  # the view
    log = (job.run_directory / "attempts/0/worker-0/stdout.log").read_bytes()
    assert log == b"tty=True size=(99, 33)\n\rstep 0\rstep 1\rstep 2\ndone\n"


@pytest.mark.parametrize("term", ["dumb", ""])
def test_a_terminal_without_controls_gets_none(start_job, term):
    ours, theirs = pty.openpty()
    job = start_job({0: "terminal"}, popen={"stdout": theirs, "stderr": theirs}, environ={"TERM": term})
    os.close(theirs)
    seen = b""
    while select.select([ours], [], [], 10)[0]:
        try:
            seen += os.read(ours, 65536)
        except OSError:
            break
    os.close(ours)
    assert job.finish() == 0
    assert b"done" in seen and b"\x1b" not in seen


def test_the_launcher_is_cold():
    """Neither TensorFlow, nor NumPy, nor the session comes with the launcher."""
    code = (
        "import sys, paceline.launch.local; "
        "print([m for m in ('tensorflow', 'numpy', 'keras', 'mpi4py', 'paceline.session') if m in sys.modules])"
    )
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environ)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
@pytest.mark.parametrize("workers", [1, 2])
def test_standard_streams_that_are_closed_are_no_others(start_job, closed, workers):
    def close():
        for descriptor in closed:
            os.close(descriptor)

    job = start_job({0: "read"}, workers=workers, popen={"stdin": None, "preexec_fn": close})
    assert job.finish() == 0
    files = job.run_directory / "attempts/0/worker-0"
    assert (files / "stdout.log").read_text() == "0 read ''\n" or closed[0] != 0
    assert (files / "stderr.log").read_text() == ""
    assert all(json.loads(line) for line in (files / "journal.jsonl").read_text().splitlines())
    if closed == (1,):
        assert job.out == ""


@pytest.mark.parametrize(
    "content",
    [b"\xef\xbb\xbfprint('\xc3\xa4')\n", b"# -*- coding: cp1252 -*-\nprint('\xe4')\n", b"print('\xc3\xa4')\r\n"],
)
def test_scripts_in_the_encodings_of_python(start_job, tmp_path, content):
    (tmp_path / "good.py").write_bytes(content)
    job = start_job({0: "script:good.py"}, workers=1)
    assert job.finish() == 0
    assert job.out == "\u00e4\n"


def test_a_folder_is_run_as_python_runs_it(start_job, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/neighbour.py").write_text("name = 'neighbour'")
    (tmp_path / "folder/__main__.py").write_text("import sys, neighbour\nprint(sys.argv, __file__, neighbour.name)")
    job = start_job({0: "script:folder"}, workers=1, target="folder")
    assert job.finish() == 0
    assert job.out == "['folder', 'a'] folder/__main__.py neighbour\n"


def test_variables_for_workers_are_there_when_python_starts(start_job, tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "more/only_here.py").write_text("print('found')")
    (tmp_path / "train.py").write_text("import only_here")
    path = os.pathsep.join([str(tmp_path / "more"), str(HERE.parents[1] / "src"), str(HERE)])
    job = start_job({0: "script:train.py"}, workers=1, env=[("PYTHONPATH", path)])
    assert job.finish() == 0
    assert job.out == "found\n"


def test_names_that_are_no_utf_8_arrive(start_job, tmp_path):
    name = os.fsdecode(b"na\xffme.py")
    (tmp_path / name).write_text("import sys, os; print(ascii(sys.argv), ascii(os.environ['X']))")
    job = start_job({0: f"script:{name}"}, workers=1, target=name, env=[("X", os.fsdecode(b"\xfe"))])
    assert job.finish() == 0
    assert job.out == "['na\\udcffme.py', 'a'] '\\udcfe'\n"
