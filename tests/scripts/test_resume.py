"""A job that is ended anywhere, and started again by the same command, ends as one that was never ended."""

import json
import shutil
from pathlib import Path

import pytest

KEEP = ["--checkpoint-dir", "ck", "--checkpoint-every", "5steps", "--keep-checkpoints", "9"]
KILLED, TOLD = 137, 143


def again(start, program, *arguments, folder, ends, **options):
    """Starts a program until it ends well; returns how each attempt ended, which must be as `ends` says."""
    outcomes = []
    for code in [*ends, 0]:
        outcomes.append(start(program, *arguments, folder=folder, **options))
        assert outcomes[-1].code == code, outcomes[-1].text[-4000:]
    return outcomes


def damage(folder):
    """Flips a bit in the newest checkpoint."""
    newest = max(folder.glob("ck/step-*"))
    path = newest / "state-0-of-1.safetensors"
    content = bytearray(path.read_bytes())
    content[-5] ^= 16
    path.write_bytes(content)
    return newest


@pytest.fixture(scope="module")
def undisturbed(start):
    return start("resumes.py", workers=1, options=KEEP).ok()


@pytest.fixture(scope="module")
def ended(start, tmp_path_factory):
    """One worker: killed in an epoch, while it evaluates, between two fits; told to end; its newest file damaged."""
    folder = tmp_path_factory.mktemp("ended")
    options = {"workers": 1, "options": KEEP, "folder": folder}
    kills = "batch:8,batch:19,evaluate,between,second:3:TERM"
    options["env"] = {"KILLS": kills}
    first = again_until(start, options, KILLED)
    second = again_until(start, options, KILLED)
    damaged = damage(folder)
    rest = again(start, "resumes.py", ends=[KILLED, KILLED, TOLD], **options)
    return [first, second, *rest], damaged


def again_until(start, options, code):
    outcome = start("resumes.py", **options)
    assert outcome.code == code, outcome.text[-4000:]
    return outcome


@pytest.mark.support(feature="exact resume", strategy="one-device", transport="none")
def test_a_run_that_was_ended_five_times_is_the_undisturbed_one(undisturbed, ended):
    outcomes, _ = ended
    assert outcomes[-1].facts == undisturbed.facts
    assert outcomes[-1].notes("fit 1 had ended")
    assert outcomes[-1].notes(r"fit 2 goes on from step \d+ \(epoch 4, after \d+ of its steps\)")


def test_files_of_callbacks_have_each_row_once(undisturbed, ended):
    outcomes, _ = ended
    text = outcomes[-1].facts[0]["csv"][0]
    assert text.count("epoch") == 1
    assert [line.split(",")[0] for line in text.splitlines()] == ["epoch", "0", "1", "2"]


def test_a_damaged_checkpoint_is_named_and_an_older_one_taken(ended):
    outcomes, damaged = ended
    third = outcomes[2]
    assert third.notes(f"the checkpoint of step {int(damaged.name[5:])} is not used")
    assert third.notes(r"fit 1 goes on from step 10 ")


def test_sigterm_ends_with_a_checkpoint_and_143(ended):
    outcomes, _ = ended
    folder = outcomes[0].folder
    journals = [path.read_text() for path in folder.rglob("journal.jsonl")]
    events = [json.loads(line) for text in journals for line in text.splitlines()]
    kinds = {event["kind"] for event in events}
    assert {"checkpoint", "resumed", "preempted"} <= kinds
    (told,) = [event for event in events if event["kind"] == "preempted"]
    assert any(event["kind"] == "checkpoint" and event["step"] == told["step"] for event in events)
    assert not [line for line in outcomes[4].err.splitlines() if "Traceback" in line]


def test_a_run_that_has_ended_is_neither_trained_again_nor_gone_on_with(start, ended, tmp_path):
    folder = Path(shutil.copytree(ended[0][-1].folder / "ck", tmp_path / "ck")).parent
    refused = start("resumes.py", workers=1, options=KEEP, folder=folder)
    assert refused.code == 78
    assert "has ended" in refused.err
    assert "--resume never" in refused.err


def test_another_run_is_refused_with_what_differs(start, ended, tmp_path):
    folder = Path(shutil.copytree(ended[0][-1].folder / "ck", tmp_path / "ck")).parent
    run = json.loads((folder / "ck/run.json").read_text()) | {"state": "running"}
    (folder / "ck/run.json").write_text(json.dumps(run))
    other = start("resumes.py", "--lr", "2", workers=1, options=[*KEEP, "--wire-dtype", "bfloat16"], folder=folder)
    assert other.code == 78
    assert "arguments: none in the checkpoint directory, --lr 2 now" in other.err
    assert "--wire-dtype: float32 in the checkpoint directory, bfloat16 now" in other.err
    shown = start("resumes.py", workers=1, options=[*KEEP, "--dry-run"], folder=folder).ok()
    assert "it holds this run, interrupted" in shown.err


@pytest.fixture(scope="module")
def two_undisturbed(start):
    return start("resumes.py", options=KEEP).ok()


@pytest.mark.support(feature="exact resume", strategy="multi-worker", transport="mpi")
@pytest.mark.whole_table
def test_two_workers_go_on_together(start, two_undisturbed, tmp_path):
    options = {"options": KEEP, "folder": tmp_path, "env": {"KILLS": "batch:19,second:3:TERM"}}
    *_, last = again(start, "resumes.py", ends=[KILLED, TOLD], **options)
    assert last.facts == two_undisturbed.facts


# More kinds, made anew in one process: tests/resume/test_position.py.
@pytest.mark.support(feature="--max-restarts", strategy="multi-worker", transport="mpi")
@pytest.mark.whole_table
def test_a_job_that_is_started_again_by_itself_has_the_same_bits(start, two_undisturbed):
    kills = {"KILLS": "batch:8,between"}
    outcome = start("resumes.py", options=[*KEEP, "--max-restarts", "2"], env=kills).ok()
    assert outcome.facts == two_undisturbed.facts
    assert outcome.notes(r"a worker was killed: restart 1 of 2 in 1 s, from the checkpoint of step \d+")
    assert outcome.notes("fit 1 had ended")
    assert outcome.notes("ended with exit code 0 .* 2 restarts")


KINDS = ["rows", "remembers", "endless", "wild", "several", "eager"]
OFTEN = ["--checkpoint-dir", "ck", "--checkpoint-every", "2steps", "--keep-checkpoints", "9"]


@pytest.fixture(scope="module")
def data_undisturbed(start):
    return start("resumes_data.py", *KINDS, workers=1, options=OFTEN).ok().facts[0]


@pytest.fixture(scope="module")
def data_ended(start, tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    options = {"workers": 1, "options": OFTEN, "folder": folder, "env": {"KILL": "1"}}
    return again(start, "resumes_data.py", *KINDS, ends=[KILLED] * len(KINDS), **options)


@pytest.mark.support(feature="exact resume, every kind of data", strategy="one-device", transport="none")
def test_data_of_every_kind_come_back_to_their_place(data_undisturbed, data_ended):
    facts = data_ended[-1].facts[0]
    different = [kind for kind in KINDS if facts[kind] != data_undisturbed[kind]]
    assert different == ["wild"]


def test_data_that_do_not_come_back_are_named(data_ended):
    assert any(outcome.notes("its data .tf.data. call Python") for outcome in data_ended)
    told = [line for outcome in data_ended for line in outcome.notes("did not come back")]
    assert len(told) == 1
    assert "the epoch is begun again, from step" in told[0]


@pytest.mark.support(feature="resume with another number of workers", strategy="multi-worker", transport="mpi")
@pytest.mark.whole_table
def test_another_number_of_workers_goes_on(start, tmp_path):
    whole = start("resumes_data.py", "plain", workers=1, env={"EPOCHS": "3"}).ok().facts[0]["plain"]
    options = {"options": OFTEN, "env": {"KILL": "2"}, "folder": tmp_path}
    assert start("resumes_data.py", "plain", workers=2, **options).code == KILLED
    assert start("resumes_data.py", "plain", workers=1, **options).code == KILLED
    last = start("resumes_data.py", "plain", workers=4, **options).ok()
    assert last.notes("the checkpoint was written by 1 worker, now there are 4")
    assert last.same("plain")[2:4] == whole[2:4]
    # Sums of other parts are rounded differently; a sample more or less would show in the third digit.
    assert last.same("plain")[1]["loss"] == pytest.approx(whole[1]["loss"], rel=1e-4)


@pytest.mark.support(feature="exact resume", strategy="mirrored", transport="in-process")
@pytest.mark.whole_table
def test_replicas_of_one_process(start, tmp_path):
    options = {"options": [*OFTEN, "--replicas-per-worker", "2"], "workers": 1}
    drawing = start("resumes_data.py", "chunks", "drawing", **options).ok()
    (told,) = drawing.notes("random numbers that no checkpoint holds .RandomStandardNormal")
    assert "sequential_1" in told
    whole = [{"chunks": facts["chunks"]} for facts in drawing.facts]
    options |= {"folder": tmp_path, "env": {"KILL": "1"}}
    *_, last = again(start, "resumes_data.py", "chunks", ends=[KILLED], **options)
    assert last.facts == whole


@pytest.mark.support(feature="exact resume", strategy="multi-worker", transport="ring")
@pytest.mark.whole_table
def test_over_ring_and_written_in_shares(start, tmp_path):
    options = {"options": [*OFTEN, "--communication", "ring", "--checkpoint-writers", "sharded"]}
    whole = start("resumes_data.py", "chunks", **options).ok().facts
    options |= {"folder": tmp_path, "env": {"KILL": "1"}}
    *_, last = again(start, "resumes_data.py", "chunks", ends=[KILLED], **options)
    assert last.facts == whole
    assert len(list(max(tmp_path.glob("ck/step-*")).glob("*.safetensors"))) == 2
