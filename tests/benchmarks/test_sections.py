"""Numbers in, tables out."""

import importlib

import pytest

from benchmarks import cnn, memory, mlp, run, start, sweep, wide
from benchmarks.contest import Outcome, Series, Settings

SETTINGS = Settings(has_jit=True)


def series(**values):
    return {key: Series(title=key.upper(), values=list(found)) for key, found in values.items()}


def row(rows, *words):
    (found,) = [cells for cells in rows if all(any(word in cell for cell in cells) for word in words)]
    return found


@pytest.mark.parametrize("name", ["mlp", "cnn", "wide", "memory", "start", "sweep"])
def test_every_contestant_has_its_own_key_and_an_existing_script(name):
    contestants = importlib.import_module(f"benchmarks.{name}").plan(SETTINGS)
    assert len({c.key for c in contestants}) == len(contestants)
    for contestant in contestants:
        scripts = [word for p in contestant.processes for word in p.argv if word.endswith(".py")]
        assert len(scripts) == len(contestant.processes)
        assert all(run.Path(script).is_file() for script in scripts)


@pytest.mark.parametrize("name", run.NAMES)
def test_a_section_is_written_also_where_nothing_was_measured(name):
    module = importlib.import_module(f"benchmarks.{name}")
    missing = {c.key: Series(title=c.title, missing=["a_package"]) for c in module.plan(SETTINGS)}
    failed = {c.key: Series(title=c.title, values=[None], error="last words") for c in module.plan(SETTINGS)}
    assert "not installed: a_package" in module.render(missing, {})
    assert "failed in 1 of 1: last words" in module.render(failed, {})


def test_mlp_every_worker_has_one_core():
    for contestant in mlp.plan(SETTINGS):
        workers = 2 if contestant.key == "together" else mlp._num_workers(contestant.key)
        assert sorted(core for p in contestant.processes for core in p.cores) == list(range(workers))


def test_mlp_the_best_of_the_others_counts():
    measured = series(mpi=[60.0, 66.0], legacy2_spe1=[3.0, 3.0], legacy2_spe10=[6.0, 6.0], legacy2_spe50=[5.0, 5.0])
    found = row(mlp.target_rows(measured), "legacy")
    assert "best: legacy2_spe10" in found[1]
    assert found[2] == "10.5 (10.0-11.0)"
    assert found[4] == "yes"


def test_mlp_a_variant_has_rows_of_its_own():
    measured = series(one=[10.0], one_jit=[25.0], keras1=[10.0])
    rows = mlp.target_rows(measured)
    assert row(rows, "at worst", "ONE_JIT")[4] == "yes"
    assert [cells[4] for cells in rows if cells[1] == "one process: stock Keras, on this MLP"] == ["**no**", "yes"]


def test_mlp_a_step_is_compared_with_its_own_one_worker():
    # 128 rows in 2 ms are 64,000 rows/s; two workers: 256 rows in 2.5 ms.
    measured = series(one=[64_000.0], mpi=[102_400.0])
    rows = mlp.own_rows(measured)
    longer = row(rows, "a step is longer by")
    assert longer[2] == "0.500 ms (0.500-0.500)"
    assert longer[4] == "yes"
    assert row(rows, "scaling efficiency")[2].startswith("0.800")
    assert row(rows, "scaling efficiency")[4] == "**no**"


def test_cnn_efficiency_is_of_as_many_images():
    measured = series(one_16=[100.0], mpi_16=[195.0], one_1=[80.0], mpi_1=[120.0], ring_1=[80.0])
    rows = cnn.efficiency_rows(measured)
    assert row(rows, "MPI_16")[1:] == ["0.975 (0.975-0.975)", ">= 97%", "yes"]
    assert row(rows, "MPI_1", "no")[1:] == ["0.750 (0.750-0.750)", ">= 85%", "**no**"]
    assert row(rows, "RING_1")[2:] == ["", ""]


def test_wide_reduction_is_what_two_workers_take_longer():
    def rate(ms, workers):
        return wide.ROWS_A_WORKER * workers / ms * 1000

    measured = series(
        one=[rate(100, 1)], mpi=[rate(220, 2)], ring=[rate(320, 2)], stock1=[rate(120, 1)], stock2=[rate(420, 2)]
    )
    rows = wide.reduction_rows(measured)
    assert row(rows, "MPI")[1:] == ["120 (120-120)", "0.400 (0.400-0.400)", "<= 0.5", "yes"]
    assert [cells[4] for cells in rows if cells[0] == "RING"] == ["**no**"]


def test_memory_the_worker_that_grew_most_counts():
    outcome = Outcome(results=[{"resident_bytes": [500e6, 501e6]}, {"resident_bytes": [400e6, 403e6]}])
    text = memory.render(series(mpi=[memory.megabytes(outcome)]), {})
    assert "3.00 MB (3.00-3.00) | < 2 MB | **no**" in text


def test_start_is_measured_from_before_the_process():
    assert start.seconds(Outcome(results=[{"first_step_s": 12.5}], began_s=10.0)) == 2.5
    text = start.render(series(plain=[5.0, 6.0], one=[5.4, 6.4], two=[7.0, 8.0]), {})
    assert "0.400 s (0.400-0.400) | <= 0.5 s | yes" in text


def test_sweep_times_and_bandwidths():
    text = sweep.render(series(mpi=[[[4, 0.004], [2**20, 1.0]]], gloo=[[[4, 0.4]]]), {"plot": True})
    assert "| 1 MiB | 1.00 | - |" in text
    assert "| 1 MiB | 1,050 | - |" in text
    assert f"({sweep.PLOT})" in text
