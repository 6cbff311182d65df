"""Hook on Keras' epoch iterator: hands out several steps at once where the loop's pace says so."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from paceline.training.pace import Loop, current_loop


def install(owner: Any) -> None:
    """Puts the hook in place. Once per worker.

    Args:
        owner: Keras' `TFEpochIterator`, which counts steps, warns, and begins new epochs; that stays Keras'.
    """

    def following(self: Any) -> Any:
        loop = current_loop()
        first = next(self._epoch_iterator)
        iterator = first[-1]
        if loop is None or self.steps_per_execution != 1:
            return first
        begin, last = first[0], first
        if loop.was_short:
            # The data have ended. Keras counts the step that finds it out, and no other.
            self._steps_seen = loop.done + 1
            size = 1
        else:
            size = loop.pace.following()
        limit = self.steps_per_epoch or self._num_batches
        # Keras must not be asked for a step behind the last one before that has run: it then begins a new epoch.
        while last[0] < begin + size - 1 and not (limit and last[0] >= limit - 1):
            following_step = next(self._epoch_iterator, None)
            if following_step is None:
                break
            last = following_step
        loop.begins(begin, last[0] - begin + 1)
        if hasattr(iterator, "element_spec"):
            iterator.paceline_steps = last[0] - begin + 1
        # Keras 3.10 hands out (step, iterator), later ones (first step, last step, iterator).
        return (last[0], iterator) if len(first) == 2 else (begin, last[0], iterator)

    owner.__next__ = following


def note_data(loop: Loop | None, iterator: Any) -> None:
    """Tells the loop what its data are like; the first iterator that is made in a `fit` is the training's."""
    if loop is None or loop.is_noted:
        return
    steps = iterator.steps_per_epoch or iterator._num_batches
    loop.is_noted = True
    loop.steps = None if steps is None else int(steps) * loop.epochs
    specs = [spec for spec in tf.nest.flatten(iterator._distributed_dataset.element_spec) if spec is not None]
    loop.has_fixed_shapes = not iterator._ends_together and all(_is_fixed(spec) for spec in specs)


def _is_fixed(spec: Any) -> bool:
    if not isinstance(spec, tf.TensorSpec) or spec.dtype == tf.string or spec.shape.rank is None:
        return False
    return bool(spec.shape[1:].is_fully_defined())
