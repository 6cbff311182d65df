"""The train and test functions that Keras' loops call, for any number of replicas."""

from __future__ import annotations

import contextlib
import functools
import time
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf
from keras.src.backend.tensorflow.trainer import TensorFlowTrainer

from paceline.data.share import leaves, total_rows, without_optionals
from paceline.training import current, decisions, own_draws, pace, progress
from paceline.training.agreement import variables_of
from paceline.training.compiled import compiled_step
from paceline.training.ending import finish
from paceline.training.late import LateStates, Place
from paceline.training.loop import fit_into_a_loop, many_steps
from paceline.training.run import local_replicas, next_own_share, own_rows, run_on_shares
from paceline.training.step import Kind, ReplicaStep

StepFunction = Callable[[Any], Any]
BeforeStep = Callable[[Any, Callable[[], None]], None]


class Result(NamedTuple):
    """What an execution of steps leaves.

    Attributes:
        logs: The last step's.
        steps: How many were run.
        paused: Whether there are fewer because they took long, not because the data have ended.
    """

    logs: Any
    steps: int
    paused: bool = False


_STEPS = {Kind.FIT: "train_step", Kind.TEST: "test_step"}


def replica_function(
    model: Any, kind: Kind, *, compiled: bool, late: LateStates, place: Place = Place.ALONE
) -> Callable[..., Any]:
    """Returns what one replica does with its share in one training or test step.

    Args:
        model: The model.
        kind: `FIT` or `TEST`.
        compiled: Whether XLA compiles it, where that can be.
        late: The states that are summed in a group's last step only.
        place: Where in a group the step stands.
    """
    step_of = getattr(model, _STEPS[kind])
    if model.distribute_strategy.num_replicas_in_sync == 1:
        alone = tf.function(step_of, jit_compile=True, reduce_retracing=True) if compiled else step_of
        return lambda data, *share: alone(data)
    puts_off = is_keras_own(model, kind)
    seen = _seen_before(model, kind)

    def whole_step(data: Any, *share: Any) -> Any:
        step = ReplicaStep(kind, *share, puts_off=puts_off, known=seen, late=late, place=place, data=data)
        with current.entered(step):
            logs = finish(step, step_of(data), model.metrics)
        step.remember(seen)
        return logs

    if not compiled:
        return whole_step
    in_two_halves = compiled_step(model, kind, step_of, seen, late=late, place=place)
    reasons: list[str] = []
    if not puts_off and kind is Kind.FIT:
        reasons.append("it is the model's own and may apply gradients in its middle")
    elif len(local_replicas(model.distribute_strategy)) > 1:
        reasons.append("XLA cannot compile for several devices of one process")

    def on_replica(data: Any, *share: Any) -> Any:
        if any(isinstance(leaf, tf.SparseTensor) for leaf in leaves(data)) and not reasons:
            reasons.append("its data are sparse")
        if not reasons:
            logs = in_two_halves(data, *share)
            if logs is not None:
                return logs
            reasons.append(
                "replicas exchange something in its middle (synchronised BatchNorm, a mask, padding), or a log has no "
                "shape"
            )
        decisions.tell(f"{model.name}: XLA does not compile its {_STEPS[kind]}: {reasons[0]}")
        if not share:
            data, *rest = own_rows(data)
            share = tuple(rest)
        return whole_step(data, *share)

    on_replica.takes_batches = not reasons  # type: ignore[attr-defined]
    return on_replica


def is_keras_own(model: Any, kind: Kind) -> bool:
    """Returns whether a model's step is Keras' own, and nothing in it looks at what other replicas do."""
    return getattr(type(model), _STEPS[kind]) is getattr(TensorFlowTrainer, _STEPS[kind])


_seen: weakref.WeakKeyDictionary[Any, dict[Kind, list[Any]]] = weakref.WeakKeyDictionary()


def _seen_before(model: Any, kind: Kind) -> list[Any]:
    """Returns the variables that an earlier step of this model assigned to, to be noted again.

    A function inside the model that was traced then is not traced again for a new `train_function`, so its assignments
    would go unseen.
    """
    seen = _seen.setdefault(model, {}).setdefault(kind, [])
    present = {id(named.variable) for named in variables_of(model)}
    seen[:] = [variable for variable in seen if id(variable) in present]
    return seen


def step_on_batch(
    model: Any, kind: Kind, *, compiled: bool, late: LateStates, place: Place = Place.ALONE
) -> Callable[..., Any]:
    """Returns a function of one global batch that runs a step and returns its logs. Collective: yes.

    See `replica_function` for the arguments.
    """
    on_replica = replica_function(model, kind, compiled=compiled, late=late, place=place)
    strategy = model.distribute_strategy

    def one_step(batch: Any, own_share: bool = False) -> Any:
        if kind is Kind.FIT:
            progress.note_rows(batch[0][2] if own_share else total_rows(without_optionals(batch)))
            if not own_share:
                progress.note_batch(batch)
        logs = run_on_shares(strategy, on_replica, batch, own_share=own_share)[0]
        if kind is Kind.FIT and progress.marks_batches():
            own_draws.tell(model)
        return logs

    one_step = tf.autograph.experimental.do_not_convert(one_step)
    if runs_eagerly(model):
        return one_step
    return tf.function(one_step, reduce_retracing=True)


def iterating_function(model: Any, kind: Kind, before_step: BeforeStep, *, compiled: bool) -> Callable[[Any], Result]:
    """Returns Keras' `train_function` or `test_function`: takes an iterator, runs steps. Collective: yes.

    An iterator says in `paceline_steps` how many steps are to be run; by default as many as the model's
    `steps_per_execution`.

    Args:
        model: The model.
        kind: `FIT` or `TEST`.
        before_step: Called before each execution with the model and a function that traces the step without running it.
        compiled: Whether XLA compiles the step, where that can be.
    """
    late = LateStates()
    step_at = functools.cache(lambda place: step_on_batch(model, kind, compiled=compiled, late=late, place=place))
    one_step = step_at(Place.ALONE)
    strategy = model.distribute_strategy

    def has_late_states() -> bool:
        has_one_graph = not runs_eagerly(model) and is_keras_own(model, kind)
        return has_one_graph and strategy.num_replicas_in_sync > 1 and late.find(_seen_before(model, kind))

    single: Any
    many: Any
    single, many = _single_step(one_step), many_steps(strategy, step_at, late, has_late_states)
    if not runs_eagerly(model):
        single, many = tf.function(single, reduce_retracing=True), tf.function(many, reduce_retracing=True)
        # A group is one call. TensorFlow counts the calls and traces of all models together, and warns of retracing
        # where several short fits trace once each.
        many._omit_frequent_tracing_warning = True
    peek = tf.function(tf.autograph.experimental.do_not_convert(functools.partial(next_own_share, strategy)))
    own: list[Any] = []

    def on_own_shares(iterator: Any, steps: int) -> Result:
        logs, done = None, 0
        for _ in range(steps):
            batch, any_left = peek(iterator)
            if not any_left:
                break
            before_step(model, functools.partial(_own_step, model, one_step, own, iterator))
            logs, done = _own_step(model, one_step, own, iterator)(batch), done + 1
        if not done:
            raise StopIteration
        return Result(logs, done)

    def on_arrays(batches: Any, steps: int) -> Result:
        logs, done = None, 0
        for _, batch in zip(range(steps), batches, strict=False):
            before_step(model, functools.partial(trace, model, one_step, batch))
            logs, done = one_step(batch), done + 1
        return Result(logs, done)

    def one_by_one(iterator: Any, steps: int) -> Result:
        logs, done = None, 0
        with contextlib.suppress(tf.errors.OutOfRangeError):  # the data end within the group: what was run counts
            for _ in range(steps):
                logs, done = single(iterator), done + 1
        if not done:
            raise tf.errors.OutOfRangeError(None, None, "End of sequence")
        return Result(logs, done)

    def function(iterator: Any) -> Result:
        steps = getattr(iterator, "paceline_steps", None) or model.steps_per_execution
        if not isinstance(iterator, tf.data.Iterator):
            return on_arrays(iterator, steps)
        if getattr(iterator, "paceline_own_share", False):
            return on_own_shares(iterator, steps)
        # By itself, also where many follow: variables cannot be made inside a loop.
        before_step(model, lambda: trace(model, single, iterator))
        if steps == 1:
            return Result(single(iterator), 1)
        if not (runs_eagerly(model) or fit_into_a_loop(single.get_concrete_function(iterator).structured_outputs)):
            return one_by_one(iterator, steps)
        limit = pace.LIMIT_S if hasattr(iterator, "paceline_steps") else float("inf")
        logs, done, paused = many(iterator, tf.constant(steps), tf.constant(time.time() + limit, tf.float64))
        if not done:
            raise tf.errors.OutOfRangeError(None, None, "End of sequence")
        return Result(logs, int(done), bool(paused))

    return function


def _own_step(model: Any, one_step: Any, made: list[Any], iterator: Any) -> Any:
    """Returns the step on shares of the script's own, traced once for all sizes of batches.

    Each worker sees other sizes at other times. Transports number their collectives while a graph is traced, so that
    all workers must trace the same graphs in the same order.
    """
    if runs_eagerly(model):
        return functools.partial(one_step, own_share=True)
    if not made:
        number = tf.TensorSpec([], tf.int32)
        spec = tf.nest.map_structure(lambda s: None if isinstance(s, tf.OptionalSpec) else s, iterator.element_spec)
        step = tf.function(tf.autograph.experimental.do_not_convert(functools.partial(one_step, own_share=True)))
        shares = [(spec, number, number) for _ in local_replicas(model.distribute_strategy)]
        made.append(step.get_concrete_function(shares))
    return made[0]


def runs_eagerly(model: Any) -> bool:
    """Returns whether steps are Python: by the model, or because the script had every `tf.function` be that."""
    return bool(model.run_eagerly or tf.config.functions_run_eagerly())


def trace(model: Any, function: Any, *arguments: Any, **options: Any) -> None:
    """Builds the graph of a function without running it, unless the model runs eagerly."""
    if not runs_eagerly(model):
        function.get_concrete_function(*arguments, **options)


def _single_step(one_step: StepFunction) -> StepFunction:
    """Returns a function of an iterator that runs one step and returns its logs."""

    def single(iterator: Any) -> Any:
        batch = iterator.get_next()
        # Nothing of a step may happen before its data are there: at the end of the data there are none.
        # Not inside the step: a variable that it creates would depend on the data and could not be lifted out.
        # By an operation in between: TensorFlow drops a dependency on what is an input of the call already,
        # and a call that is inlined does not wait for its inputs.
        with tf.control_dependencies(tf.nest.flatten(leaves(batch), expand_composites=True)[:1]):
            arrived = tf.no_op()
        with tf.control_dependencies([] if tf.executing_eagerly() else [arrived]):
            return one_step(batch)

    return tf.autograph.experimental.do_not_convert(single)
