"""Sparse gradients: whether rows of a table were looked up by rows of the batch, or are the same on every replica."""

from __future__ import annotations

import tensorflow as tf

from paceline.training.growth import FIXED, Growths

_ALIKE = "paceline_alike"


def looks_up_alike(gradient: tf.IndexedSlices, growths: Growths) -> bool:
    """Returns whether all replicas have looked up the same rows of a table, because no row of the batch chose them.

    Outside of graphs nobody knows: there rows that are all different are taken for a range. Collective: no.

    Args:
        gradient: This replica's slices.
        growths: What is known of the step's tensors.
    """
    if hasattr(gradient, _ALIKE):
        return bool(getattr(gradient, _ALIKE))
    growth = growths.of(gradient.indices)
    if growth is None:
        count = int(tf.size(gradient.indices))
        return count > 1 and int(tf.size(tf.unique(gradient.indices)[0])) == count
    return growth == FIXED


def mark_alike(gradient: tf.IndexedSlices, *, alike: bool) -> None:
    """Says of slices that have left a compiled function what `looks_up_alike` has said of them inside."""
    setattr(gradient, _ALIKE, alike)
