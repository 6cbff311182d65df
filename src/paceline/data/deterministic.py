"""Hooks on TensorFlow's dataset operations: a pipeline gives every worker the same batches, whatever its threads do.

TensorFlow runs the calls of a parallel map as threads come by, also those that draw random numbers, and gives
elements out of order where `deterministic=False` allows it. Its own remedy, `enable_op_determinism`, is for the whole
process, refuses operations without a seed, and takes prefetching and all parallel calls from a pipeline that calls
Python or looks up a table anywhere. Here only what must be in order is: a parallel map is cut in two (`split.py`), as
TensorFlow would cut it; a parallel interleave whose function draws reads one after another.

The operations are hooked, not the methods of `Dataset`, so that datasets inside functions and those that Keras makes
are the same. Source: tensorflow/python/data/ops and tensorflow/core/grappler/optimizers/data/make_deterministic.cc,
2.19 to 2.21.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import dataset_options_pb2
from tensorflow.python.framework import random_seed
from tensorflow.python.ops import gen_dataset_ops, gen_experimental_dataset_ops, gen_image_ops

from paceline.data.order import ordered_nodes
from paceline.data.split import split

Tell = Callable[[str], None]
_OF_AN_INTERLEAVE = (
    *("input_dataset", "other_arguments", "cycle_length", "block_length", "f"),
    *("output_types", "output_shapes", "metadata"),
)
_OF_A_MAP = (
    *("input_dataset", "other_arguments", "f", "output_types", "output_shapes"),
    *("use_inter_op_parallelism", "preserve_cardinality", "metadata"),
)


def install(tell: Tell, *, has_peers: bool = True) -> None:
    """Puts the hooks in place. Once per worker, in jobs of several, and where a job may go on from a checkpoint.

    Args:
        tell: Shows a person one line, the first time that it is said.
        has_peers: Whether other workers are to read the same, not only this one when it is started again.
    """
    reader = "all workers read" if has_peers else "a run that goes on reads"

    def say(text: str) -> None:
        tell(f"tf.data: {text}, so that {reader} the same batches")

    for module, name, change in HOOKED:
        setattr(module, name, _changed(getattr(module, name), functools.partial(change, say)))


def _changed(original: Any, change: Callable[[dict[str, Any]], Any]) -> Any:
    """Returns an operation whose arguments `change` changes, or that returns what `change` does."""
    signature = inspect.signature(original)

    @functools.wraps(original)
    def operation(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        instead = change(bound.arguments)
        return original(*bound.args, **bound.kwargs) if instead is None else instead

    return operation


def _change_options(say: Tell, arguments: dict[str, Any]) -> None:
    options = dataset_options_pb2.Options.FromString(arguments["serialized_options"])
    if options.HasField("deterministic") and not options.deterministic:
        options.deterministic = True
        arguments["serialized_options"] = options.SerializeToString()
        _say_in_order(say)


def _in_order(say: Tell, arguments: dict[str, Any]) -> None:
    if arguments.get("deterministic") == "false":
        _say_in_order(say)
    arguments["deterministic"] = "true"


def _say_in_order(say: Tell) -> None:
    say("deterministic=False is taken as True")


def _change_map(say: Tell, arguments: dict[str, Any]) -> Any:
    if "deterministic" in arguments:
        _in_order(say, arguments)
    function = arguments["f"]
    graph = function.graph.as_graph_def()
    ordered = ordered_nodes(graph)
    if not ordered:
        return None
    if any("PyFunc" in operation for operation in ordered.values()):
        say(
            "Python functions in a map run one call at a time, also with num_parallel_calls "
            "(tf.numpy_function(..., stateful=False) promises that their order does not matter)"
        )
    kept = {name: arguments[name] for name in _OF_A_MAP if name in arguments}
    if not tf.executing_eagerly() and "batch_size" not in arguments:
        # Inside an interleave: its inputs share the state, so that none may run ahead of the others.
        return gen_dataset_ops.map_dataset(**kept)
    # The function keeps its halves, as the dataset keeps the function: they must live as long.
    function.paceline_halves = halves = split(function, graph, ordered)
    if halves is None:
        arguments["num_parallel_calls"] = tf.constant(1, tf.int64)
        return None
    kept["f"], arguments["f"] = halves
    kept["output_types"] = [tensor.dtype for tensor in halves.first.outputs]
    kept["output_shapes"] = [tensor.shape for tensor in halves.first.outputs]
    arguments["input_dataset"] = gen_dataset_ops.map_dataset(**kept)
    return None


def _change_interleave(say: Tell, arguments: dict[str, Any]) -> Any:
    _in_order(say, arguments)
    ordered = ordered_nodes(arguments["f"].graph.as_graph_def())
    if not ordered:
        return None
    operations = ", ".join(sorted(set(ordered.values()))[:3])
    say(f"an interleave with num_parallel_calls reads one input at a time (its function runs {operations})")
    return gen_dataset_ops.interleave_dataset(**{name: arguments[name] for name in _OF_AN_INTERLEAVE})


def _give_seed(say: Tell, arguments: dict[str, Any]) -> None:
    # TensorFlow gives this one no seed where the script gives none, whatever the seed of the job.
    if not arguments.get("seed") and not arguments.get("seed2"):
        seeds = random_seed.get_seed(None)
        arguments["seed"], arguments["seed2"] = (seed or 0 for seed in seeds)


#: Module, operation, and what changes its arguments or returns a dataset instead of it.
HOOKED: tuple[tuple[Any, str, Callable[[Tell, dict[str, Any]], Any]], ...] = (
    (gen_dataset_ops, "options_dataset", _change_options),
    (gen_dataset_ops, "parallel_map_dataset_v2", _change_map),
    (gen_experimental_dataset_ops, "map_and_batch_dataset", _change_map),
    (gen_dataset_ops, "parallel_interleave_dataset_v4", _change_interleave),
    (gen_experimental_dataset_ops, "legacy_parallel_interleave_dataset_v2", _change_interleave),
    (gen_dataset_ops, "parallel_batch_dataset", _in_order),
    (gen_experimental_dataset_ops, "parse_example_dataset_v2", _in_order),
    (gen_image_ops, "sample_distorted_bounding_box_v2", _give_seed),
)
