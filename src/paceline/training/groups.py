"""Hook on Keras' epoch iterator: hands out several steps at once where the loop's pace says so."""

from __future__ import annotations

import inspect
from typing import Any

import tensorflow as tf
from keras.src.trainers.epoch_iterator import EpochIterator

from paceline.training.pace import Loop, current_loop

#: Later versions of Keras hand out (first step, last step, iterator), 3.10 and 3.11 (step, iterator).
_HANDS_OUT_BOTH = "begin_step" in inspect.getsource(EpochIterator.enumerate_epoch)


def install(owner: Any) -> None:
    """Puts the hook in place. Once per worker.

    Args:
        owner: Keras' `TFEpochIterator`, which counts steps, warns, and begins new epochs; that stays Keras'.
    """

    def following(self: Any) -> Any:
        loop = current_loop()
        if loop is not None and loop.between is not None:
            loop.between(self)
        if loop is None or self.steps_per_execution != 1:
            return next(self._epoch_iterator)
        if loop.missing and loop.paused:
            # Keras has handed these steps out.
            return _group(loop, loop.done, loop.done + loop.missing - 1, loop.iterator)
        if loop.missing:
            # The data have ended. One more step finds it out, as in Keras, which counts that one and no other.
            self._steps_seen -= loop.missing - 1
            return _group(loop, loop.done, loop.done, loop.iterator)
        begin, last, iterator = _step(next(self._epoch_iterator))
        size, limit = min(loop.pace.following(), loop.most), self.steps_per_epoch or self._num_batches
        # Keras must not be asked for a step behind the last one before that has run: it then begins a new epoch.
        while last < begin + size - 1 and not (limit and last >= limit - 1):
            step = next(self._epoch_iterator, None)
            if step is None:
                break
            last = step[0]
        return _group(loop, begin, last, iterator)

    owner.__next__ = following


def _step(handed_out: tuple[Any, ...]) -> tuple[int, int, Any]:
    """Returns a step of Keras 3.10, `(step, iterator)`, as later versions hand it out."""
    return (handed_out[0], *handed_out[-2:])


def _group(loop: Loop, begin: int, last: int, iterator: Any) -> tuple[Any, ...]:
    loop.begins(begin, last - begin + 1, iterator)
    if hasattr(iterator, "element_spec"):
        iterator.paceline_steps = last - begin + 1
    return (begin, last, iterator) if _HANDS_OUT_BOTH else (last, iterator)


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
