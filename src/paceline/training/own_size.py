"""A hint where a step fails because it counts on the batch's rows: a replica has some of them.

Scripts say `tf.reshape(x, [16, -1])` or `tf.ones((16, 1))` for a batch of 16 rows. TensorFlow then says which
numbers do not fit, as text. What is looked for: would they fit if the replica had all rows?
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from paceline.data.share import bounds
from paceline.errors import add_note
from paceline.training import progress

#: What is no part of what fails: names and attributes of operations, where they were made, Keras' list of arguments.
_BESIDE = re.compile(r"\{\{.*?\}\}| = \w+\[.*?\]\(.*?\)'|File \".*|\[Op:.*|Arguments received by(?s:.*)|\x1b\[\d+m")
_SHAPE = re.compile(r"[\[(]((?:\d+|\?|None)(?:, ?(?:\d+|\?|None))*),?[\])]")
#: Of two numbers that differ, where they are not rows or cannot be told from others.
_NO_ROWS = re.compile(
    r"axis -?[1-9]|[Dd]imension -?[1-9]\d* in both|Matrix size-incompatible|rank|\d (?:elements|values)"
)
#: Of two numbers that should be the same: of any axes, and of the first.
_SAME = re.compile(r"are (\d+) and (\d+)")
_ONE_AND_OTHER = re.compile(
    r"must be (\d+) but is (\d+)"
    r"|size\[0\] in \[0, (\d+)\], but got (\d+)"
    r"|axis 0 must equal (\d+), got shape \[(\d+)"
    r"|size = (\d+)\) and num_split (\d+)"
    r"|batch: (\d+), \w+ batch: (\d+)"
    r"|xpected dimension (\d+) at axis 0 .* got dimension (\d+)"
)
_RESHAPE = re.compile(r"with (\d+) (?:elements|values).*?(?:requested shape has |\()(\d+)")
_MULTIPLE = re.compile(r"with (\d+) values.* multiple of (\d+)|evenly divisible by (?P<by>\d+) but is (?P<size>\d+)")
#: An index, and of how many rows, where that is said.
_INDEX = re.compile(
    r"= (\d+) is not in \[0, (\d+)\)|= \[(\d+).* does not index into shape \[(\d+)|slice index (\d+) of dimension 0 ()"
)
#: Rows, columns, and the columns that a layer takes.
_COLUMNS = re.compile(
    r"axis -1 of input shape to have value (\d+), but received input with shape \((\d+),.*?(\d+)\)"
    r"|In\[0\]: \[(?P<rows>\d+),(?P<columns>\d+)\], In\[1\]: \[(?P<wanted>\d+)"
)


def counts_on_all(text: str, rows: int, total: int) -> bool:
    """Returns whether what an error says of numbers would be no error with `total` rows in place of `rows`.

    >>> counts_on_all("Incompatible shapes: [8,6] vs. [16,6]", 8, 16)
    True
    >>> counts_on_all("Incompatible shapes: [8,3] vs. [8,16]", 8, 16)
    False
    """
    text = _BESIDE.sub("", text)

    def stands_for(has: int, wanted: int) -> bool:
        """Returns whether `has` is made of replicas and batches, and `wanted` of as many batches."""
        parts, missing = wanted // total, wanted - has
        return wanted % total == 0 and 0 < missing <= parts * (total - rows) and missing % (total - rows) == 0

    def differ_so(numbers: Any) -> bool:
        return any(stands_for(*sorted(pair)) for pair in itertools.combinations(map(int, numbers), 2))

    if not _NO_ROWS.search(text):
        firsts = {shape.split(",")[0] for shape in _SHAPE.findall(text)}
        same = [set(pair) for pair in _SAME.findall(text)]
        if differ_so(number for number in firsts if number.isdecimal() and all(number in pair for pair in same)):
            return True
    if any(differ_so(filter(None, found)) for found in _ONE_AND_OTHER.findall(text)):
        return True
    for has, wanted in _RESHAPE.findall(text):
        if int(has) * total == int(wanted) * rows and int(wanted) % total == 0:
            return True
    for found in _MULTIPLE.finditer(text):
        has, by = int(found[1] or found["size"]), int(found[2] or found["by"])
        if by % total == 0 and has * total % (rows * by) == 0:
            return True
    for found in _INDEX.findall(text):
        index, *among = filter(None, found)
        if rows <= int(index) < total and among in ([], [str(rows)]):
            return True
    for found in _COLUMNS.finditer(text):
        first, last = int(found[2] or found["rows"]), int(found[3] or found["columns"])
        if first % total == 0 and last * total == int(found[1] or found["wanted"]) * rows:
            return True
    return False


@contextlib.contextmanager
def hinted(num_replicas: int) -> Iterator[None]:
    """Within it, an error of a step that counts on all rows of a batch is raised with a note. Collective: no."""
    try:
        yield
    except (ValueError, TypeError, tf.errors.InvalidArgumentError) as error:
        for total in progress.rows_of_batch() if num_replicas > 1 else ():
            for rows in sorted({end - begin for begin, end in (bounds(total, i, num_replicas) for i in (0, -1))}):
                if 0 < rows < total and counts_on_all(str(error), rows, total):
                    add_note(error, _note(rows, total))
                    raise
        raise


def _note(rows: int, total: int) -> str:
    return (
        f"paceline: this replica has {rows} of the batch's {total} rows, and the step uses another number of rows.\n"
        f"  fix:      take it from the data, tf.shape(x)[0], instead of the script's {total}   or   "
        "paceline run --workers 1 --strategy one-device ..."
    )
