import ml_dtypes
import numpy as np
import pytest

from paceline.checkpoint.store import CheckpointStore

DTYPES = [
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
    *("bool", "float16", "float32", "float64", "complex64", "complex128"),
    ml_dtypes.bfloat16,
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2,
    ml_dtypes.int4,
]


def _arrays_of(dtypes=DTYPES):
    """Returns arrays of all dtypes: odd sizes, a scalar, an empty one, one that does not lie in C order."""
    arrays = {}
    for dtype in map(np.dtype, dtypes):
        values = np.arange(15).reshape(3, 5).astype(dtype)
        arrays[f"{dtype.name}/odd"] = values
        arrays[f"{dtype.name}/turned"] = values.T
        arrays[f"{dtype.name}/scalar"] = np.ones((), dtype)
        arrays[f"{dtype.name}/empty"] = np.zeros((0, 4), dtype)
    return arrays


def _assert_same(found, wanted):
    assert set(found) == set(wanted)
    for name, array in wanted.items():
        assert found[name].dtype == array.dtype.newbyteorder("="), name
        assert found[name].shape == array.shape, name
        assert found[name].tobytes() == np.ascontiguousarray(array.astype(found[name].dtype)).tobytes(), name


@pytest.fixture(scope="session")
def small():
    return dict(_SMALL)


@pytest.fixture(scope="session")
def arrays_of():
    return _arrays_of


@pytest.fixture(scope="session")
def assert_same():
    return _assert_same


_SMALL = {"model/kernel": np.arange(300, dtype=np.float32).reshape(10, 30), "model/bias": np.ones(7, np.int8)}


@pytest.fixture
def told():
    return []


@pytest.fixture
def store(tmp_path, told):
    return CheckpointStore(tmp_path / "ckpt", tell=told.append, num_workers=2)
