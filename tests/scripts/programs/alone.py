"""Asks paceline what it is, also when plain python runs it."""

import contextlib
import os
import sys

import keras
import tensorflow as tf
from facts import digest, note, table, weights

import paceline

note(before=[paceline.rank(), paceline.num_workers(), paceline.is_chief()])
strategy = paceline.strategy()
x, y = table()
with strategy.scope() if "scope" in sys.argv else contextlib.nullcontext():
    model = keras.Sequential([keras.Input([6]), keras.layers.Dense(3)])
model.compile(keras.optimizers.SGD(0.1), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.set_weights([w * 0.5 for w in [x[:6, :3], y[:3].astype("float32")]])
model.fit(x, y, batch_size=16, shuffle=False, verbose=0)
note(
    same=paceline.strategy() is strategy is tf.distribute.get_strategy(), replicas=strategy.num_replicas_in_sync,
    isinstance=isinstance(strategy, tf.distribute.MirroredStrategy), task=strategy.cluster_resolver.task_id,
    weights=weights(model), digest=digest(*model.get_weights()),
    job=[k for k in ("PACELINE_JOB", "PACELINE_RANK") if k in os.environ],
    names=[n for n in ("strategy", "rank", "is_chief", "num_workers") if n not in dir(paceline)],
)  # fmt: skip
