"""Runs many cases in one start of a gang: `paceline run gang.py OUT CASE...`, or plain `python gang.py OUT CASE...`.

Each worker writes, case by case, `OUT/worker-R/CASE.npz` (arrays by name) and, last, `CASE.json` (seconds, exception).
"""

from __future__ import annotations

import gc
import importlib.util
import json
import sys
import time
import traceback
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from cases import TABLE

SEED = 20


def flat(value, name=""):
    """Yields (name, array) of everything in nested dicts, lists and tuples."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flat(inner, f"{name}/{key}")
    elif isinstance(value, (list, tuple)):
        for place, inner in enumerate(value):
            yield from flat(inner, f"{name}/{place}")
    elif value is not None:
        yield name, np.asarray(value)


def variables(states):
    """Yields (name, array of all copies `[copies, ...]`) of every variable of models, optimizers and metrics."""
    seen = set()
    for place, state in enumerate(states):
        kinds = {"": state.variables, "metric ": getattr(state, "metrics_variables", ())}
        optimizer = getattr(state, "optimizer", None)
        kinds["optimizer "] = optimizer.variables if optimizer is not None else ()
        for kind, owned in kinds.items():
            for number, variable in enumerate(owned):
                if id(variable) in seen:
                    continue
                seen.add(id(variable))
                value = variable.value
                copies = getattr(value, "values", None) or (value,)
                name = f"{place} {kind}{number} {variable.path.rsplit('/')[-1]}"
                yield name, np.stack([np.asarray(tf.convert_to_tensor(copy)) for copy in copies])


def run(case, folder):
    """Runs one case and writes what it left; a failure is written too."""
    keras.backend.clear_session()
    keras.utils.set_random_seed(SEED)
    arrays, error, began = {}, None, time.perf_counter()
    try:
        outcome = case.run()
        arrays |= {f"value{name}": array for name, array in flat(outcome.values)}
        arrays |= {f"variable/{name}": array for name, array in variables(outcome.states)}
    except Exception as failure:  # noqa: BLE001  the gang goes on; the tests show what happened
        error = {"type": type(failure).__name__, "text": str(failure), "traceback": traceback.format_exc()}
    arrays = {n: a.astype("float32") if a.dtype.name in ("float16", "bfloat16") else a for n, a in arrays.items()}
    np.savez(folder / f"{case.name}.npz", **arrays)
    seconds = time.perf_counter() - began
    partial = folder / f"{case.name}.tmp"
    partial.write_text(json.dumps({"seconds": seconds, "error": error, "order": list(arrays)}), encoding="utf-8")
    partial.rename(folder / f"{case.name}.json")
    # What is left is Keras, TensorFlow and what they keep of this case: not to be searched again after each case,
    # and by each `clear_session`, which was two fifths of a gang's time.
    gc.collect()
    gc.freeze()


def main(out, names):
    """Runs the cases in the table's order."""
    rank = 0
    if importlib.util.find_spec("paceline"):
        import paceline

        rank = paceline.rank()
    folder = Path(out) / f"worker-{rank}"
    folder.mkdir(parents=True, exist_ok=True)
    for case in TABLE:
        if case.name in names:
            run(case, folder)


if __name__ == "__main__":
    main(sys.argv[1], set(sys.argv[2:]))
