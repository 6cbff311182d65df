"""One step of one replica: what is noted while it runs, and sums over replicas.

What is done at its end: `paceline.training.ending`.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import tensorflow as tf

from paceline.collectives.fused import sum_dense, sum_slices
from paceline.data.share import leaves
from paceline.training import guard, progress
from paceline.training.growth import COUNT, FIXED, MEAN, SUM, Form, Growths
from paceline.training.late import LateStates, Place
from paceline.training.slices import looks_up_alike


class Kind(enum.Enum):
    """What runs: the gradient of a person's own `strategy.run` loop is a sum, that of `fit` a mean."""

    FIT = "fit"
    TEST = "test"
    PREDICT = "predict"
    OWN_LOOP = "own loop"


class PutOff(NamedTuple):
    """An `optimizer.apply` that waits for the end of the step."""

    optimizer: Any
    gradients: list[Any]
    variables: list[Any]


class ReplicaStep:
    """What one replica does in one step; made and used in a replica context.

    Called by every replica. Collective: `sum_over_replicas` is.

    Args:
        kind: What runs.
        rows: Rows of this replica that count, int32 scalar; 0 if it got a stand-in row.
        total: Rows of all replicas, int32 scalar.
        fingerprint: What this worker's global batch looks like; the same on all workers, or they read different data.
            A number instead of a tensor: none was taken, the script shares its data out itself.
        puts_off: Whether `optimizer.apply` may wait for the end of the step: then one
            reduction is enough. True for Keras' own `train_step`, where nothing that
            follows the update looks at the weights.
        known: Keras variables that an earlier trace of the same step assigned to.
        late: The states that are summed in a group's last step only.
        place: Where in a group of steps this one stands.
        is_late: Whether this worker's group of steps should pause (`progress.is_late`); by default asked now.
        data: This replica's share of the batch, where the step is traced that computes with it.

    Attributes:
        put_off: Updates that wait for the end of the step.
        growths: How tensors of the step grow with the rows.
        is_in_compiled_loss: Whether what `compile` was given is computing the loss.
        losses_of_layers: What `add_loss` was given in this step, by the layer's id; with the layer, which is held.
        sums_at_tapes: Whether gradients were summed where they were taken from a tape.
        has_shared_out: Whether this replica's rows are its share of a batch that every worker reads.
    """

    def __init__(
        self,
        kind: Kind,
        rows: Any = None,
        total: Any = None,
        fingerprint: Any = 0.0,
        *,
        puts_off: bool = False,
        known: Iterable[Any] = (),
        late: LateStates | None = None,
        place: Place = Place.ALONE,
        is_late: Any = None,
        data: Any = None,
    ) -> None:
        self.kind = kind
        self.context = tf.distribute.get_replica_context()
        self.num_replicas: int = self.context.num_replicas_in_sync
        self.replica: Any = self.context.replica_id_in_sync_group
        if rows is None:
            rows, total = tf.constant(1), tf.constant(self.num_replicas)
        self.rows = tf.cast(rows, tf.float32)
        self.total = tf.cast(total, tf.float32)
        self.weight = tf.math.divide_no_nan(self.rows, self.total)
        self.counts = self.rows > 0
        self.has_shared_out = tf.is_tensor(fingerprint)
        self.fingerprint = tf.cast(fingerprint, tf.float32)
        self._is_late = is_late
        self.puts_off = puts_off
        self.put_off: list[PutOff] = []
        self.is_in_compiled_loss = False
        self.losses_of_layers: dict[int, tuple[Any, list[Any]]] = {}
        self.sums_at_tapes = False
        self.loss_is_weighted = False
        self._sums_itself = False
        self.growths = Growths(leaves(data))
        for tensor, growth in ((self.rows, COUNT), (self.weight, COUNT), (self.total, FIXED)):
            self.growths.note(tensor, growth)
        self.before: dict[int, tuple[Any, Any]] = {}
        self.results: dict[int, tuple[Any, Any, str | None]] = {}
        self._late = late or LateStates()
        self._place = place
        self._waiting: dict[int, tuple[Any, Any]] = {}
        self._graph = None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
        for variable in known:
            self.note_assignment(variable)

    @property
    def signals(self) -> Any:
        """What workers tell each other in every step: fingerprint of the batch, whether to pause; float32, [2]."""
        return tf.stack([self.fingerprint, progress.is_late() if self._is_late is None else self._is_late])

    def runs_here(self) -> bool:
        """Returns whether what is called now is part of the step itself, not of a loop, branch or function in it."""
        if tf.executing_eagerly():
            return self._graph is None
        return self._graph is tf.compat.v1.get_default_graph()

    # -- noting ------------------------------------------------------------------------------

    def note_assignment(self, variable: Any) -> None:
        """Keeps a Keras variable's value from before its first assignment in this step."""
        key = id(variable)
        if key in self.before or key in self._waiting or variable._value is None:
            return
        # The assignment may sit in a branch or loop; the value from before belongs to the step.
        with self._graph.as_default() if self._graph is not None else contextlib.nullcontext():
            value = tf.identity(variable.value)
            if self._place is Place.ALONE or not self._late.holds(variable):
                self.before[key] = (variable, value)
                return
            self._waiting[key] = (variable, value)
            if self._place is Place.LAST:
                self.before[key] = (variable, self._late.at_begin(variable))

    def is_late(self, variable: Any) -> bool:
        """Returns whether a variable's change is that of a group of steps; a stand-in row has no part in it."""
        return id(variable) in self._waiting

    def drop_stand_in(self) -> None:
        """Takes back what a row that does not count did to the states that are summed later. Collective: no."""
        for variable, old in self._waiting.values():
            kept = tf.where(self.counts, tf.convert_to_tensor(variable.value), old)
            self.growths.note(kept, FIXED)
            variable.value.assign(kept)

    def note_result(self, metric: Any, value: Any) -> None:
        """Remembers that a tensor, or each of a dict of them, is the result of a metric."""
        results = value.items() if isinstance(value, dict) else [(None, value)]
        for key, tensor in results:
            self.results[id(tensor)] = (tensor, metric, key)

    @property
    def assigned(self) -> list[Any]:
        """The Keras variables that were assigned to so far."""
        return [variable for variable, _ in self.before.values()]

    def remember(self, seen: list[Any]) -> None:
        """Adds the variables that this step assigned to and that are not in `seen` yet."""
        seen += [variable for variable in self.assigned if not any(variable is other for other in seen)]

    # -- sums --------------------------------------------------------------------------------

    def sum_over_replicas(self, values: list[Any], num_gradients: int = 0) -> list[Any]:
        """Returns sums over all replicas of tensors and `IndexedSlices`. Collective: yes.

        The first `num_gradients` are gradients: they travel as `StepOptions` says.
        """
        if not values:
            return []
        guard.note_exchange()
        self._sums_itself = True
        try:
            sums = self._sum(values, num_gradients)
        finally:
            self._sums_itself = False
        for total in sums:
            for part in (total.values, total.indices) if isinstance(total, tf.IndexedSlices) else (total,):
                self.growths.note(part, FIXED)
        return sums

    def wire(self, gradient: Any) -> Any:
        """Returns the dtype that a gradient travels as."""
        options = self.context.strategy.extended.step_options
        shortens = hasattr(self.context.strategy, "transport") and gradient.dtype == tf.float32
        return tf.as_dtype(options.wire_dtype) if shortens else gradient.dtype

    def _sum(self, values: list[Any], num_gradients: int) -> list[Any]:
        extended = self.context.strategy.extended
        bucket_bytes = extended.step_options.bucket_bytes
        dense = [(v, i) for i, v in enumerate(values) if not isinstance(v, tf.IndexedSlices)]
        wires = [self.wire(v) if i < num_gradients else v.dtype for v, i in dense]
        alike = [isinstance(v, tf.IndexedSlices) and looks_up_alike(v, self.growths) for v in values]
        if hasattr(self.context.strategy, "transport"):
            return list(extended.sum_all(values, wires, bucket_bytes, alike))
        # A collective of TensorFlow's is bound to one shape (2.19 to 2.21), and slices have as many rows as they happen
        # to have: in one process they are put one after the other without any.
        sums = iter(
            sum_dense(
                [v for v, _ in dense],
                lambda buffer: self.context.all_reduce(tf.distribute.ReduceOp.SUM, buffer),
                wires,
                bucket_bytes,
            )
        )
        return [
            sum_slices(v, self._gather_rows, self.num_replicas if same else 0)
            if isinstance(v, tf.IndexedSlices)
            else next(sums)
            for v, same in zip(values, alike, strict=True)
        ]

    def _gather_rows(self, tensor: Any) -> Any:
        def concatenated(strategy: Any, rows: Any) -> Any:
            return tf.concat(strategy.experimental_local_results(rows), axis=0)

        return self.context.merge_call(concatenated, args=(tensor,))

    def once_for_all_replicas(self, create: Callable[[], Any]) -> None:
        """Creates variables: for all replicas of a process at once. Collective: between those."""
        if hasattr(self.context.strategy, "transport"):
            create()
            return

        def in_cross_replica_context(strategy: Any) -> None:
            del strategy
            create()

        self.context.merge_call(in_cross_replica_context)

    def weight_of(self, loss: Any) -> Any:
        """Returns with which weight this replica's loss enters that of the global batch, a float32 scalar.

        Collective: no. A mean over rows by its share of the rows; a sum, or a loss for each row, as it is.
        """
        growth = self.growths.of(loss)
        adds = loss.shape.rank != 0 if growth is None else growth == SUM or growth.form is Form.PER_ROW
        return tf.cast(self.counts, tf.float32) if adds else self.weight

    def as_mean(self, value: Any) -> Any:
        """Returns a number so that its mean over replicas, weighted by rows, is that of the batch. Collective: no.

        A sum over this replica's rows becomes larger by what the rows of all are more.
        """
        if self.growths.of(value) != SUM:
            return value
        scaled = value * tf.cast(tf.math.divide_no_nan(self.total, self.rows), value.dtype)
        self.growths.note(scaled, MEAN)
        return scaled

    def weighted_loss(self, loss: Any) -> Any:
        """Returns this replica's part of the loss, before its gradient is taken. Collective: no.

        Only here is the weight right for layers that exchange something in the middle (synchronised BatchNorm): what
        flows back through the exchange comes from losses of replicas with different numbers of rows.
        """
        if self.kind is not Kind.FIT or self.loss_is_weighted or not self.puts_off:
            # An own train_step may take gradients of several losses: each is weighted when it is reduced.
            return loss
        self.loss_is_weighted = True
        return loss * tf.cast(self.weight_of(loss), loss.dtype)

    def exchanged(self, value: Any) -> Any:
        """Returns what a layer's own exchange gets from this replica: zeros where the row it sees does not count."""
        if self._sums_itself or self.kind not in {Kind.FIT, Kind.TEST} or isinstance(value, tf.IndexedSlices):
            return value
        value = tf.convert_to_tensor(value)
        return tf.where(self.counts, value, tf.zeros_like(value))

    def weighted(self, gradient: Any, *, is_weighted: bool = False) -> Any:
        """Returns this replica's part of a gradient: weighted by rows in `fit`, as it is in an own loop.

        A replica without rows gives zeros, not "its gradient times zero": NaN times zero is NaN.

        Args:
            gradient: Dense or `IndexedSlices`.
            is_weighted: Whether it is that of a weighted loss.
        """
        if self.kind is not Kind.FIT:
            return gradient
        if isinstance(gradient, tf.IndexedSlices):
            values = self.weighted(gradient.values, is_weighted=is_weighted)
            return tf.IndexedSlices(values, gradient.indices, gradient.dense_shape)
        is_weighted = is_weighted or self.loss_is_weighted
        part = gradient if is_weighted else gradient * tf.cast(self.weight, gradient.dtype)
        return tf.where(self.counts, part, tf.zeros_like(part))

    def reduce_gradients(self, gradients: list[Any], *, are_weighted: bool = False) -> list[Any]:
        """Returns the gradients of all replicas together, None where there is none. Collective: yes."""
        present = [g for g in gradients if g is not None]
        parts = [self.weighted(g, is_weighted=are_weighted) for g in present]
        reduced = iter(self.sum_over_replicas(parts, len(present)))
        return [None if g is None else next(reduced) for g in gradients]
