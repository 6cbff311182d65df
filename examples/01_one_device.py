"""01: an ordinary Keras script. It trains on one device.

python examples/01_one_device.py
"""

import keras
import numpy as np

x = np.random.randn(2000, 20).astype(np.float32)
y = (x[:, :10].sum(axis=1) > x[:, 10:].sum(axis=1)).astype(np.int32)

model = keras.Sequential(
    [
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
history = model.fit(x, y, batch_size=100, epochs=5, validation_split=0.1, verbose=2)
print(f"validation accuracy {history.history['val_accuracy'][-1]:.3f}")
