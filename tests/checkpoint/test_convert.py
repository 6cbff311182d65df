"""What a checkpoint is converted to gives back the same arrays; what cannot be is refused with the way out."""

import doctest

import keras
import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file

from paceline.checkpoint import of_model
from paceline.checkpoint.convert import convert
from paceline.checkpoint.store import CheckpointStore
from paceline.errors import CheckpointDamaged, CheckpointNotWritten, ConfigurationRefused

NAME = "step-000000000007"
SCRIPT = """
import sys
import keras, numpy as np

units = int(sys.argv[1])
x, y = np.ones((8, 3), "float32"), np.ones((8, 1), "float32")
for fold in range(2):
    model = keras.Sequential([keras.layers.Dense(units, activation="relu"), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    history = model.fit(x, y, epochs=50, verbose=0)
print("never reached")
"""


def state_of(model):
    state = {f"model/{variable.path}": variable.numpy() for variable in model.variables}
    return state | {f"optimizer/{variable.path}": variable.numpy() for variable in model.optimizer.variables}


@pytest.fixture(scope="module")
def trained():
    keras.utils.clear_session()
    model = keras.Sequential(
        [keras.layers.Input((3,)), keras.layers.Dense(4, name="d"), keras.layers.BatchNormalization(name="b")]
    )
    model.compile("adam", "mse")
    model.fit(np.random.default_rng(0).normal(size=(8, 3)), np.ones((8, 4)), epochs=2, verbose=0)
    return model


@pytest.fixture
def saved(store, trained):
    store.write(7, state_of(trained), {"model": keras.saving.serialize_keras_object(trained), "fit": 1})
    return store


def test_arrays(store, tmp_path):
    tensors = {
        "model/file": np.arange(3.0),
        "model/half": np.ones((2, 2), ml_dtypes.bfloat16),
        "optimizer/iterations": np.array(5, np.int64),
    }
    store.write(7, tensors, {})
    for suffix, load in ((".npz", np.load), (".safetensors", load_file_of_all)):
        every, weights = tmp_path / f"every{suffix}", tmp_path / f"only.weights{suffix}"
        done = convert(store.path, NAME, str(every))
        assert done.num_tensors == 3 and done.num_bytes == every.stat().st_size
        assert convert(store.path, NAME, str(weights)).num_tensors == 2
        assert set(load(every)) == set(tensors) and set(load(weights)) == {"file", "half"}
        assert load(every)["optimizer/iterations"] == 5 and load(weights)["file"].tolist() == [0, 1, 2]
    assert "float32" in convert(store.path, NAME, str(tmp_path / "a.npz")).notes[0]
    assert np.load(tmp_path / "every.npz")["model/half"].dtype == np.float32


def load_file_of_all(path):
    try:
        return load_file(path)
    except KeyError:  # bfloat16, which the library gives only without its values
        from paceline.checkpoint.tensors import decode

        return decode(np.fromfile(path, np.uint8))


def test_a_whole_model_and_its_optimizer(saved, trained, tmp_path):
    done = convert(saved.path, NAME, str(tmp_path / "m.keras"))
    assert done.notes == []
    assert_same_model(keras.saving.load_model(tmp_path / "m.keras"), trained)


def test_the_weights_of_a_model(saved, trained, tmp_path):
    convert(saved.path, NAME, str(tmp_path / "m.weights.h5"))
    other = keras.models.clone_model(trained)
    other.load_weights(tmp_path / "m.weights.h5")
    assert [w.tolist() for w in other.get_weights()] == [w.tolist() for w in trained.get_weights()]


def assert_same_model(found, wanted):
    assert [w.tolist() for w in found.get_weights()] == [w.tolist() for w in wanted.get_weights()]
    mine, theirs = ([v.numpy().tolist() for v in model.optimizer.variables] for model in (found, wanted))
    assert mine == theirs


def test_the_state_of_another_optimizer_is_left_out_and_said(store, trained, tmp_path):
    tensors = {name: array for name, array in state_of(trained).items() if "velocity" not in name}
    store.write(7, tensors, {"model": keras.saving.serialize_keras_object(trained)})
    assert "optimizer" in convert(store.path, NAME, str(tmp_path / "m.keras")).notes[0]


@pytest.fixture
def script(tmp_path):
    """A script that trains the second of two models; what is asked of it in this process."""
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)

    def make(*argv):
        keras.utils.clear_session()  # the names of layers are counted from the start, as in a process of its own
        return {"path": str(path), "argv": list(argv)}

    return make


def test_a_script_makes_the_model_of_the_fit_that_is_wanted(store, script, tmp_path, capsys):
    rng = np.random.default_rng(1)
    shapes = {
        "sequential_1/dense_2/kernel": (3, 4),
        "sequential_1/dense_2/bias": (4,),
        "sequential_1/dense_3/kernel": (4, 1),
        "sequential_1/dense_3/bias": (1,),
    }
    tensors = {f"model/{path}": rng.normal(size=shape).astype(np.float32) for path, shape in shapes.items()}
    store.write(7, tensors, {"fit": 2})
    fit = keras.Model.fit
    assert convert(store.path, NAME, str(tmp_path / "m.keras"), script("4")).num_tensors == 4
    model = keras.saving.load_model(tmp_path / "m.keras")
    assert [w.tolist() for w in model.get_weights()] == [tensors[f"model/{path}"].tolist() for path in shapes]
    with pytest.raises(ConfigurationRefused, match="is not the one") as wrong:
        convert(store.path, NAME, str(tmp_path / "n.weights.h5"), script("5"))
    assert "dense_2/bias is [4] in the checkpoint, [5] in the model" in wrong.value.got
    with pytest.raises(ConfigurationRefused, match="does not come to the fit") as early:
        convert(store.path, NAME, str(tmp_path / "n.weights.h5"), script())
    assert "IndexError" in early.value.got and "0 of 2 fits" in early.value.got
    assert not (tmp_path / "n.weights.h5").exists()
    assert "never reached" not in capsys.readouterr().out
    assert keras.Model.fit is fit


def test_without_a_model_it_is_refused_with_the_way_out(store, small, tmp_path):
    store.write(7, small, {})
    with pytest.raises(ConfigurationRefused, match="does not say") as caught:
        convert(store.path, NAME, str(tmp_path / "m.keras"))
    assert "--script" in caught.value.fix and ".weights.npz" in caught.value.fix
    store.write(7, small, {"model": {"module": "nowhere", "class_name": "Mine", "config": {}}})
    with pytest.raises(ConfigurationRefused, match="cannot be made"):
        convert(store.path, NAME, str(tmp_path / "m.keras"))


def test_nothing_is_written_of_a_damaged_one_or_where_nothing_can_be_written(store, small, tmp_path):
    store.write(7, small, {})
    with pytest.raises(CheckpointNotWritten, match="No such file"):
        convert(store.path, NAME, str(tmp_path / "nowhere" / "m.npz"))
    with open(f"{store.path_of(7)}/state-0-of-1.safetensors", "ab") as file:
        file.write(b"x")
    with pytest.raises(CheckpointDamaged):
        convert(store.path, NAME, str(tmp_path / "m.npz"))
    assert [path.name for path in tmp_path.iterdir()] == ["ckpt"]


def test_of_another_checkpoint_directory(tmp_path, small):
    CheckpointStore(tmp_path / "other").write_fit(3, small, {})
    assert convert(str(tmp_path / "other"), "fits/000003", str(tmp_path / "m.npz")).num_tensors == 2


def test_examples_of_paths():
    assert doctest.testmod(of_model).failed == 0
