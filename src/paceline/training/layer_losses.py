"""Hook on what `add_loss` was given: in a step each replica of a process has lists of its own.

Keras keeps the losses of a forward pass in the layer, and the replicas of a process share the layer: where one waits
for the others in the middle of its step, they put theirs in its place.
"""

from __future__ import annotations

from typing import Any

from keras.layers import Layer

from paceline.training.current import current_step


def install() -> None:
    """Puts the hook in place. Once per worker, where several replicas are in one process."""
    Layer._losses = property(_losses, _set_losses)


def _losses(layer: Any) -> list[Any]:
    """Returns the losses of this replica's forward pass; outside of steps the layer's own."""
    step = current_step()
    if step is None:
        return layer.__dict__.setdefault("_losses", [])
    return step.losses_of_layers.setdefault(id(layer), (layer, []))[1]


def _set_losses(layer: Any, losses: list[Any]) -> None:
    layer.__dict__["_losses"] = losses
