"""The table of repairs: name -> module, imported when used."""

from __future__ import annotations

import importlib

from paceline.repairs.repair import Repair

NAMES = (
    "accumulation_in_condition",
    "average_in_condition",
    "clip_before_aggregation",
    "default_strategy",
    "fit_on_workers",
    "iterations_at_end_of_data",
    "many_steps_per_execution",
    "overflow_of_one_replica",
    "partial_batch",
    "scalar_loss",
    "string_inputs",
)


def load(name: str) -> Repair:
    """Returns the repair of that name.

    Raises:
        KeyError: There is no such repair.
    """
    if name not in NAMES:
        raise KeyError(f"no repair {name!r}; there are {', '.join(NAMES)}")
    repair: Repair = importlib.import_module(f"paceline.repairs.{name}").REPAIR
    return repair
