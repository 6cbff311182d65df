"""Trains a model under the step options that the command line and, with JSON as arguments, the script itself give."""

import dataclasses
import json
import sys

import keras
from facts import digest, note, table, weights

import paceline

for argument in sys.argv[1:]:
    paceline.strategy(paceline.StepOptions(**json.loads(argument)))
strategy = paceline.strategy()
x, y = table()
keras.utils.set_random_seed(7)
model = keras.Sequential([keras.Input([6]), keras.layers.Dense(8, activation="relu"), keras.layers.Dense(3)])
model.compile(
    keras.optimizers.SGD(0.1, momentum=0.9),
    keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
# The last batch has three rows: fewer than four replicas could share
logs = model.fit(x[:35], y[:35], batch_size=16, epochs=2, shuffle=False, verbose=0).history
note(
    options=dataclasses.asdict(strategy.extended.step_options),
    sums=type(getattr(strategy.extended, "_cross_device_ops", None)).__name__,
    replicas=strategy.num_replicas_in_sync, logs=logs, evaluated=model.evaluate(x, y, verbose=0),
    weights=weights(model), digest=digest(*model.get_weights()),
)  # fmt: skip
