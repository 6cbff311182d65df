"""Does a step draw random numbers whose state is inside TensorFlow's kernels, where no checkpoint finds it?

`tf.random.normal` and its like count in the kernel of their operation. `keras.random` and Keras' layers count in a
variable, and so does `tf.random.Generator`.
"""

from __future__ import annotations

import re
from typing import Any

import tensorflow as tf

from paceline.training import decisions

#: Operations with a state of their own (2.19 to 2.21); those of Keras begin with `Stateless`.
_DRAWS = re.compile(
    r"(Random(Uniform|StandardNormal|Shuffle|Gamma|Poisson)|(Parameterized)?TruncatedNormal|Multinomial).*"
)


def tell(model: Any) -> None:
    """Says so, of the step that is being traced. Collective: no."""
    if tf.executing_eagerly():
        return
    definition = tf.compat.v1.get_default_graph().as_graph_def()
    nodes = [*definition.node, *(node for function in definition.library.function for node in function.node_def)]
    found = sorted({node.op for node in nodes if _DRAWS.fullmatch(node.op)})
    if found:
        decisions.tell(
            f"{model.name}: its step draws random numbers that no checkpoint holds ({', '.join(found)}): after an "
            "interruption it draws others; keras.random with a keras.random.SeedGenerator goes on exactly"
        )
