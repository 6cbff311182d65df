"""The table of cases: what one device computes, N replicas compute too."""

from __future__ import annotations

from cases import (
    batches,
    callbacks,
    inputs,
    layers,
    losses,
    metrics,
    optimizers,
    own_loops,
    padding,
    pipelines,
    steps,
    sums,
)
from cases.table import TABLE, Case, Outcome

__all__ = ["TABLE", "Case", "Outcome"]

_ = (batches, callbacks, inputs, layers, losses, metrics, optimizers, own_loops, padding, pipelines, steps, sums)
