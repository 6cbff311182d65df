"""Loops that would train N times by themselves are refused; gradients for other ends are not."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

PROGRAMS = Path(__file__).resolve().parent / "programs"
LOOPS = [f"{loop} {way}" for loop in ("apply_gradients", "apply", "assign_sub", "assign", "keras_assign")
         for way in ("eagerly", "compiled")] + ["set_weights eagerly"]  # fmt: skip


@pytest.fixture(scope="module")
def bare(start):
    return start("bare_loops.py", workers=2)


@pytest.fixture(scope="module")
def accepted(start):
    return {n: start("gradients.py", workers=n).ok() for n in (1, 2)}


@pytest.mark.support(
    feature="bare GradientTape loop", strategy="multi-worker", transport="mpi",
    refused="each worker would train by itself: put the step inside strategy.run",
)  # fmt: skip
@pytest.mark.parametrize("loop", LOOPS)
def test_a_bare_loop_is_refused_with_the_lines_that_mend_it(bare, loop):
    for worker in bare.facts:
        name, code, text = worker[loop]
        assert (name, code) == ("ScriptRefused", 78)
        assert "strategy = paceline.strategy()" in text and "with strategy.scope():" in text
        assert "experimental_distribute_dataset(dataset)" in text
        assert (
            "strategy.run(train_step, args=(x, y))   for train_step(x, y),   args=(batch,)   for train_step(batch)"
            in text
        )
        assert "or, where an input is trained and no model (style transfer): paceline run --workers 1" in text


@pytest.mark.parametrize(
    ("loop", "called", "source"),
    [
        ("apply_gradients", "SGD.apply_gradients(...)", "step(lambda: optimizer.apply_gradients(zip("),
        ("apply", "Adam.apply(...)", "step(lambda: optimizer.apply(gradients(model)"),
        ("assign_sub", "assign_sub(...) on", "step(lambda: raw.assign_sub("),
        ("assign", "assign(...) on", "step(lambda: raw.assign(raw"),
        ("keras_assign", "assign(...) on", "variable.assign(variable"),
        ("set_weights", "set_weights(...) on", "model.set_weights(["),
    ],
)
def test_it_names_what_the_script_has_called_and_where(bare, loop, called, source):
    for way in ("eagerly", "compiled") if loop != "set_weights" else ("eagerly",):
        got = bare.same(f"{loop} {way}")[2].splitlines()[1]
        assert got.startswith(f"  got:      {called}"), got
        place, written = re.search(r"outside of strategy.run\(...\), at bare_loops.py, line (\d+): (.*)$", got).groups()
        assert source in written
        assert written == (PROGRAMS / "bare_loops.py").read_text().splitlines()[int(place) - 1].strip()


@pytest.fixture(scope="module")
def readme(tmp_path_factory):
    """Returns the README's loop, before and after it was mended, with a last line that prints the weights."""
    folder = tmp_path_factory.mktemp("readme")
    (diff,) = re.findall(r"```diff\n(.*?)```", (PROGRAMS.parents[2] / "README.md").read_text(), re.DOTALL)
    found = []
    for name, left_out in (("before", "+"), ("after", "-")):
        lines = [line[1:] for line in diff.splitlines() if not line.startswith(left_out)]
        found.append(folder / f"{name}.py")
        found[-1].write_text("\n".join([*lines, "print(*model.get_weights()[0].ravel(), sep='\\n')\n"]))
    return found


def numbers(result):
    return [float(line) for line in result.ok().out.splitlines() if re.fullmatch(r"-?\d\S*", line)]


def test_the_loop_of_the_readme_trains_as_it_did_before(start, readme):
    before, after = readme
    refused = start(before, workers=2)
    assert (
        refused.code == 78 and ": optimizer.apply_gradients(zip(gradients, model.trainable_variables))" in refused.err
    )
    wanted = numbers(start(before, plain=True))
    assert len(wanted) == 4 + 6
    for found in (start(after, plain=True), start(after, workers=2)):
        # float32 sums in another order
        np.testing.assert_allclose(numbers(found), wanted, rtol=1e-5, atol=1e-6)


def test_the_job_ends_with_78_and_no_traceback(bare):
    assert bare.code == 78
    assert bare.text.count("This training loop never combines the gradients of the 2 replicas") == 1
    assert "Traceback" not in bare.text


def test_a_loop_by_another_way_is_refused_at_the_end(start):
    result = start("bare_loops.py", "by another way", workers=2)
    assert result.same("reached_the_end")
    assert result.code == 78
    assert "has changed since its gradient was taken" in result.text


def test_on_one_worker_a_bare_loop_is_just_a_loop(start):
    result = start("bare_loops.py", workers=1).ok()
    assert [result.facts[0][loop] for loop in LOOPS] == [None] * len(LOOPS)


def test_the_way_out_for_a_script_that_trains_no_model_is_one(start):
    result = start("bare_loops.py", workers=1, options=("--strategy", "one-device")).ok()
    assert [result.facts[0][loop] for loop in LOOPS] == [None] * len(LOOPS)


@pytest.mark.support(feature="gradients inside train_step", strategy="multi-worker", transport="mpi")
def test_gradients_for_other_ends_are_not_refused(accepted):
    one, two = accepted[1].facts[0], accepted[2]
    two.same("digest")
    two.same("saliency")
    np.testing.assert_allclose(two.facts[0]["penalised"], one["penalised"], rtol=1e-5, atol=1e-6)


@pytest.mark.support(feature="own loop with strategy.run", strategy="multi-worker", transport="mpi")
def test_a_loop_under_strategy_run_trains_as_one_device(accepted):
    one, two = accepted[1].facts[0], accepted[2]
    two.same("own_digest")
    # float32 sums in another order
    np.testing.assert_allclose(two.facts[0]["own_losses"], one["own_losses"], rtol=1e-5)
    np.testing.assert_allclose(two.facts[0]["own_weights"], one["own_weights"], rtol=1e-5, atol=1e-6)


def test_a_script_that_only_differentiates_ends_well(start):
    result = start("only_gradients.py", workers=2).ok()
    assert result.same("norm") > 0


MIRRORED = ("--strategy", "mirrored", "--replicas-per-worker", "2")


def test_replicas_of_a_process_may_not_count_in_one_variable(start):
    result = start("own_variable.py", workers=1, options=MIRRORED)
    assert result.code == 78 and result.facts == []
    assert "share a tf.Variable" in result.err and "fix:      keras.Variable(..., trainable=False)" in result.err
    assert "Traceback" not in result.err


def test_workers_have_a_variable_each(start):
    steps = start("own_variable.py", workers=1).ok().facts[0]["count"]
    assert start("own_variable.py", workers=2).ok().same("count") == steps > 1


def test_a_worker_that_waits_leaves_its_core_to_others(start):
    late = start("late_worker.py", workers=2).ok().facts[0]
    assert late["waited"] > 3.0
    assert late["used"] < 1.5  # MPI by itself would take all of it


def test_two_fits_at_once_are_refused_between_workers(start):
    for worker in start("two_threads.py", workers=2).facts:
        ((name, text),) = worker["failures"]
        assert name == "ScriptRefused" and "Two threads train at once" in text


def test_on_one_worker_two_fits_run_at_once(start):
    assert start("two_threads.py", workers=1).ok().facts[0]["failures"] == []
