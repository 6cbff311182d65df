"""What the programs of this folder write down for the tests, and the small models and data that they share."""

import contextlib
import hashlib
import json
import os
import pathlib

import numpy as np

FACTS = {}


def rank():
    return int(os.environ.get("PACELINE_RANK", "0"))


def note(**facts):
    """Keeps facts of this worker; written at once, so that they are there if the program ends badly."""
    FACTS.update(facts)
    folder = pathlib.Path(os.environ["FACTS"])
    temporary = folder / f"{rank()}.tmp"
    temporary.write_text(json.dumps(FACTS))
    temporary.replace(folder / f"{rank()}.json")


@contextlib.contextmanager
def caught(name):
    """Keeps the class, exit code and text of what is raised; nothing raised is None."""
    try:
        yield
    except BaseException as error:
        note(**{name: [type(error).__name__, getattr(error, "exit_code", None), str(error)]})
    else:
        note(**{name: None})


def digest(*arrays):
    """Returns a short hash of arrays' bits."""
    state = hashlib.sha256()
    for array in arrays:
        state.update(np.ascontiguousarray(array).tobytes())
    return state.hexdigest()[:16]


def weights(model):
    """Returns all weights in one list of floats."""
    return np.concatenate([np.ravel(w) for w in model.get_weights()] or [np.zeros(0)]).astype(float).tolist()


def table(rows=40, features=6, seed=3):
    """Returns seeded features and labels of three classes."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(rows, features)).astype("float32")
    return x, (x[:, 0] > 0).astype("int64") + (x[:, 1] > 0).astype("int64")
