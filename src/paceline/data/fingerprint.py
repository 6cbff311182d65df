"""A small number that tells whether workers read the same global batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

#: Sums of up to 256 such numbers are exact in float32, in which they travel with the gradients. Prime: the
#: low half of the bits of a small whole number in float32 is zero, and must not be all that counts.
_MODULUS = 65521


def fingerprint(parts: Sequence[Any], total: tf.Tensor) -> tf.Tensor:
    """Returns a whole number below 65,521 as a float32 scalar, the same wherever a batch has the same bits.

    Looks at the first and the last row of each dense part and at the number of rows:
    enough to tell a pipeline that is shuffled, sharded or seeded differently. Sums of
    whole numbers, so that it does not depend on the order of adding. Collective: no.

    Args:
        parts: The parts of a batch.
        total: Its number of rows, int32 scalar.
    """
    marks = [tf.cast(total, tf.int32)]
    marks += [_mark(part) * (2 * place + 3) for place, part in enumerate(parts) if _is_dense(part)]
    return tf.cast(tf.math.floormod(tf.add_n(marks), _MODULUS), tf.float32)


def _is_dense(part: Any) -> bool:
    if isinstance(part, (tf.RaggedTensor, tf.SparseTensor)):
        return False
    return tf.convert_to_tensor(part).shape.rank not in (None, 0)


def _mark(part: Any) -> tf.Tensor:
    part = tf.convert_to_tensor(part)
    rows = tf.concat([part[:1], part[-1:]], axis=0)
    if rows.dtype == tf.string:
        bits = tf.cast(tf.strings.to_hash_bucket_fast(rows, _MODULUS), tf.int32)
    elif rows.dtype in (tf.float32, tf.int32, tf.uint32) or (rows.dtype.is_floating and rows.dtype.size == 8):
        bits = tf.bitcast(rows, tf.int32)
    elif rows.dtype.is_floating:
        bits = tf.bitcast(tf.cast(rows, tf.float32), tf.int32)
    elif rows.dtype.is_complex:
        bits = tf.bitcast(tf.cast(tf.math.real(rows) + tf.math.imag(rows), tf.float32), tf.int32)
    else:
        bits = tf.cast(rows, tf.int32)
    # The second row counts double, so that swapping the two is seen.
    weights = tf.reshape(tf.constant([1, 2], tf.int32)[: tf.shape(rows)[0]], [-1] + [1] * (bits.shape.rank - 1))
    return tf.reduce_sum(bits * weights)
