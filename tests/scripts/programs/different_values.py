"""Seeds its weights with its rank: the same model with other values on each worker."""

import keras
from facts import digest, note, rank, table, weights

x, y = table()
keras.utils.set_random_seed(100 + rank())
model = keras.Sequential([keras.Input([6]), keras.layers.Dense(3, name="head")])
model.compile(keras.optimizers.SGD(0.1), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
keras.utils.set_random_seed(1)
begun = digest(*model.get_weights())
other = keras.models.clone_model(model)
note(begun=begun)
keras.utils.set_random_seed(100 + rank())
looked_at = keras.Sequential([keras.Input([6]), keras.layers.Dense(3, name="looked-at")])
note(predicted=digest(looked_at.predict(x, verbose=0)))
model.fit(x, y, batch_size=8, verbose=0, shuffle=False)
note(weights=weights(model), digest=digest(*model.get_weights()))
