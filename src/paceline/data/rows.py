"""All parts of a batch have as many rows; if not, a sentence says so, also where only a running graph sees it."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from paceline.errors import ScriptRefused

#: What a graph's assertion says. A graph raises TensorFlow's classes only: its error is told by this text.
_ASSERTED = "the parts of this batch have different numbers of rows and cannot be shared between replicas"


def check_same_rows(rows: Any, total: Any) -> list[Any]:
    """Refuses a batch whose parts have different numbers of rows; returns the operation that does, if it takes one.

    Collective: no.

    Args:
        rows: Rows of one part, int32 scalar.
        total: Rows of the batch, int32 scalar.

    Raises:
        ScriptRefused: They are known, and differ. Within `in_words` it is raised too if they differ in a graph that
            runs.
    """
    if rows is total:
        return []
    known = [tf.get_static_value(number) for number in (rows, total)]
    if known[0] is not None and known[1] is not None:
        if known[0] != known[1]:
            raise _different_rows(int(known[0]), int(known[1]))
        return []
    # One operation; `tf.debugging.assert_equal` makes a branch of ten.
    return [tf.raw_ops.Assert(condition=tf.equal(rows, total), data=[_ASSERTED, rows, total])]


@contextlib.contextmanager
def in_words() -> Iterator[None]:
    """Within it, a graph's assertion that parts have different numbers of rows is raised as ScriptRefused.

    Every worker reads the same batch, and so all raise at the same step. Collective: no.
    """
    try:
        yield
    except tf.errors.InvalidArgumentError as error:
        found = re.search(re.escape(_ASSERTED) + r"\] \[(\d+)\] \[(\d+)\]", str(error))
        if found is None:
            raise
        raise _different_rows(int(found[1]), int(found[2])) from None


def _different_rows(rows: int, total: int) -> ScriptRefused:
    return ScriptRefused(
        "The parts of a batch have different numbers of rows, and replicas cannot take their rows of it.",
        got=f"a batch whose first part has {total} rows, and another part {rows}",
        expected="as many rows in every part, of which a replica takes the same ones; scalars are left whole",
        fix="batch with a row what belongs to it: "
        "tf.data.Dataset.zip((labelled.batch(16), unlabelled.batch(3).batch(16)))\n"
        "and make rows of it again in train_step: part = tf.reshape(part, [-1, *part.shape[2:]])\n"
        "or paceline run --workers 1 ...",
    )
