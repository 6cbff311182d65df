"""Hook on iterators: random layers and generators in a dataset's functions begin each iteration at a known place.

Their state is a variable, which a pipeline moves on as it reads ahead. After an iteration that is left before its end,
as by `dataset.take(1)` or where Keras looks at a batch to build a model, it stands elsewhere on each worker. So
iteration `k` over a state begins `k` strides behind the first one, wherever earlier ones have left it; the first
draws what one device draws.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import tensorflow as tf
from tensorflow.python.data.ops import iterator_ops

#: More draws than are made in one iteration. Keras counts them in the last number of a state; TensorFlow's generators
#: have their key there, for which any other number will do.
_STRIDE = 1 << 40
#: What Keras' `SeedGenerator` and TensorFlow's `Generator` call their state. Source: Keras 3.10 to 3.15,
#: TensorFlow 2.19 to 2.21.
_NAMES = ("seed_generator_state", "StateVar")
_PLACES = "paceline_places"


def install() -> None:
    """Puts the hook in place. Once per worker, in jobs of several."""
    create = iterator_ops.OwnedIterator._create_iterator

    @functools.wraps(create)
    def create_iterator(self: Any, dataset: Any) -> None:
        if tf.executing_eagerly():
            for state in _states_behind(dataset):
                _begin_anew(state)
        create(self, dataset)

    iterator_ops.OwnedIterator._create_iterator = create_iterator


def _states_behind(dataset: Any) -> Iterator[Any]:
    """Yields the states of random numbers in the functions of a dataset and of those that it is made of, once each."""
    seen: set[int] = set()
    waiting = [dataset]
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        waiting += part._inputs()
        for function in part._functions():
            graph = getattr(function.function, "graph", None)
            for variable in getattr(graph, "variables", ()):
                if id(variable) not in seen and _is_state(variable):
                    seen.add(id(variable))
                    yield variable


def _is_state(variable: Any) -> bool:
    name = variable.name.rsplit("/", 1)[-1].split(":", maxsplit=1)[0]
    return name.startswith(_NAMES) and variable.dtype == tf.int64


def _begin_anew(state: Any) -> None:
    first, count = getattr(state, _PLACES, None) or (state.numpy(), 0)
    if count:
        place = first.copy()
        place[-1] += count * _STRIDE
        state.assign(place)
    setattr(state, _PLACES, (first, count + 1))
