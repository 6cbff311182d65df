"""The loop of TensorFlow's that runs a group of steps in one call from Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

from paceline.training import progress
from paceline.training.late import LateStates, Place


def many_steps(
    strategy: Any, step_at: Callable[[Place], Any], late: LateStates, has_late_states: Callable[[], bool]
) -> Callable[[Any, Any, Any], tuple[Any, Any, Any]]:
    """Returns a function of an iterator, a number and a deadline that runs up to so many steps.

    It returns the last step's logs, how many steps were run, and whether they paused: the deadline had passed, and
    there may be more data.

    Args:
        strategy: The job's strategy.
        step_at: Returns the step for a place in a group.
        late: The states that are summed in the last step only.
        has_late_states: Whether there are any. Asked when a step by itself has been traced.
    """

    def eagerly(iterator: Any, steps: Any, deadline: Any) -> tuple[Any, Any, Any]:
        progress.begin_group(deadline)
        logs, done = None, 0
        while done < int(steps) and not (done and progress.pauses(strategy)):
            optional = iterator.get_next_as_optional()
            if not optional.has_value():
                return logs, done, False
            logs, done = step_at(Place.ALONE)(optional.get_value()), done + 1
        return logs, done, done < int(steps)

    def many(iterator: Any, steps: Any, deadline: Any) -> tuple[Any, Any, Any]:
        if tf.executing_eagerly():
            return eagerly(iterator, steps, deadline)
        logs_of = _LogsInLoop(step_at(Place.ALONE).get_concrete_function(iterator.element_spec).structured_outputs)
        run = _with_late_states if has_late_states() else _all_alike
        progress.begin_group(deadline)
        logs, done, has_more = run(_Group(strategy, iterator, steps, step_at, late, logs_of))
        return logs_of.packed(logs), done, tf.logical_and(done < steps, has_more)

    return tf.autograph.experimental.do_not_convert(many)


def fit_into_a_loop(logs: Any) -> bool:
    """Returns whether a loop of TensorFlow's can carry a step's logs: tensors of known rank, or None."""
    return all(
        log is None or (isinstance(log, tf.Tensor) and log.shape.rank is not None) for log in tf.nest.flatten(logs)
    )


class _LogsInLoop:
    """The logs of a step as a loop of TensorFlow's can carry them: flat, without None."""

    def __init__(self, structure: Any) -> None:
        self._structure = structure
        self._specs = self.flat(structure)

    def flat(self, logs: Any) -> list[Any]:
        return [log for log in tf.nest.flatten(logs) if log is not None]

    def packed(self, logs: list[Any]) -> Any:
        following = iter(logs)
        filled = [None if log is None else next(following) for log in tf.nest.flatten(self._structure)]
        return tf.nest.pack_sequence_as(self._structure, filled)

    @property
    def none_yet(self) -> list[Any]:
        return [tf.zeros([size or 0 for size in log.shape.as_list()], log.dtype) for log in self._specs]

    @property
    def shapes(self) -> list[Any]:
        return [log.shape for log in self._specs]


class _Group(NamedTuple):
    """A group of steps as the graph of its loop knows it.

    Attributes:
        strategy: The job's strategy.
        iterator: Of global batches.
        steps: How many at most, int32 scalar.
        step_at: Returns the step for a place in the group.
        late: The states that are summed in the last step only.
        logs_of: The logs of a step.
    """

    strategy: Any
    iterator: Any
    steps: Any
    step_at: Callable[[Place], Any]
    late: LateStates
    logs_of: _LogsInLoop


def _all_alike(group: _Group) -> tuple[list[Any], Any, Any]:
    """Returns the last logs, how many steps were run, and whether there may be data for more."""

    def condition(goes_on: Any, done: Any, optional: Any, logs: Any) -> Any:
        del done, logs
        return tf.logical_and(goes_on, optional.has_value())

    def body(goes_on: Any, done: Any, optional: Any, logs: Any) -> Any:
        del logs
        logs = group.logs_of.flat(group.step_at(Place.ALONE)(optional.get_value()))
        done += 1
        goes_on = tf.logical_and(done < group.steps, tf.logical_not(progress.pauses(group.strategy)))
        return goes_on, done, tf.cond(goes_on, group.iterator.get_next_as_optional, lambda: optional), logs

    first = group.iterator.get_next_as_optional()
    goes_on, done, _, logs = tf.while_loop(
        condition,
        body,
        [tf.constant(True), tf.constant(0), first, group.logs_of.none_yet],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([]), first._type_spec, group.logs_of.shapes],
        parallel_iterations=1,
    )
    return logs, done, tf.logical_not(goes_on)


def _with_late_states(group: _Group) -> tuple[list[Any], Any, Any]:
    """Does the same where the last step differs: a step is the last one if there are no data for another."""

    def condition(goes_on: Any, done: Any, optional: Any, following: Any) -> Any:
        del done, optional
        return tf.logical_and(goes_on, following.has_value())

    def body(goes_on: Any, done: Any, optional: Any, following: Any) -> Any:
        group.step_at(Place.WITHIN)(optional.get_value())
        done += 1
        # What has been fetched is trained on: a pause shows in that nothing more is.
        goes_on = tf.logical_and(done + 1 < group.steps, tf.logical_not(progress.pauses(group.strategy)))
        return goes_on, done, following, tf.cond(goes_on, group.iterator.get_next_as_optional, lambda: following)

    group.late.begin()
    first = group.iterator.get_next_as_optional()
    second = tf.cond(
        tf.logical_and(group.steps > 1, first.has_value()), group.iterator.get_next_as_optional, lambda: first
    )
    goes_on, done, last, _ = tf.while_loop(
        condition,
        body,
        [group.steps > 1, tf.constant(0), first, second],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([]), first._type_spec, first._type_spec],
        parallel_iterations=1,
    )
    logs = tf.cond(
        last.has_value(),
        lambda: group.logs_of.flat(group.step_at(Place.LAST)(last.get_value())),
        lambda: group.logs_of.none_yet,
    )
    return logs, done + tf.cast(last.has_value(), tf.int32), tf.logical_not(goes_on)
