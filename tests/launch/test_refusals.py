"""What the machine cannot give: refused in words, with nothing started and nothing left."""

import resource

import pytest


def test_two_jobs_do_not_share_a_run_directory(start_job, tmp_path):
    jobs = [start_job({0: "print:9"}, workers=1, run_dir="same") for _ in range(3)]
    codes = sorted(job.finish() for job in jobs)
    assert codes == [0, 78, 78]
    assert sum("holds a run already" in job.err or "not empty" in job.err for job in jobs) == 2


@pytest.mark.parametrize(
    ("run_dir", "words"),
    [
        ("~nobody_of_that_name/x", "cannot be found"),
        ("x" * 300, "too long"),
        ("x/" * 3000, "too long"),
        ("train.py", "File exists"),
        ("train.py/x", "Not a directory"),
    ],
)
def test_run_directories_that_cannot_be(start_job, run_dir, words):
    job = start_job({}, run_dir=run_dir)
    assert job.finish() == 78
    assert words in job.err and "Traceback" not in job.err


@pytest.mark.parametrize("make", [lambda path: path.touch(), lambda path: path.symlink_to("nowhere")])
def test_runs_that_is_no_folder_is_named(start_job, tmp_path, make):
    make(tmp_path / "runs")
    job = start_job({})
    assert job.finish() == 78
    assert f"{tmp_path / 'runs'}: File exists" in job.err


def limit(kind, value):
    """Returns what a process does before it starts, so that it has too little of something."""
    return lambda: resource.setrlimit(kind, (value, value))


@pytest.mark.parametrize("communication", ["ring", "mpi"])
@pytest.mark.parametrize("descriptors", [14, 18, 24])
def test_too_few_descriptors_are_refused_with_the_line_to_paste(start_job, communication, descriptors):
    job = start_job(
        {},
        workers=8,
        communication=communication,
        popen={"preexec_fn": limit(resource.RLIMIT_NOFILE, descriptors)},
    )
    assert job.finish() == 78
    assert "Too many open files" in job.err and "ulimit -n" in job.err
    assert "Traceback" not in job.err


@pytest.mark.parametrize("file_bytes", [0, 600])
def test_a_run_directory_that_cannot_be_written_is_refused(start_job, file_bytes):
    # As on a full disk: the first bytes are taken, then writing is an error.
    job = start_job({}, popen={"preexec_fn": limit(resource.RLIMIT_FSIZE, file_bytes)})
    assert job.finish() == 78
    assert "run directory cannot be written" in job.err and "Traceback" not in job.err
    assert not list(job.run_directory.rglob("*.tmp"))
