"""A small convolutional network on scikit-learn's 1,797 handwritten digits.

Nothing in here knows of workers:

    python examples/demo_digits.py
    paceline run examples/demo_digits.py --workers 2
"""

import keras
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

images, labels = load_digits(return_X_y=True)
images = images.reshape(-1, 8, 8, 1).astype(np.float32) / 16.0
x_train, x_test, y_train, y_test = train_test_split(images, labels, test_size=0.2, random_state=0, stratify=labels)
# every training digit also one pixel up, down, left and right
shifts = [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)]
x_train = np.concatenate([np.roll(x_train, shift, axis=(1, 2)) for shift in shifts])
y_train = np.tile(y_train, len(shifts))

model = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        keras.layers.Conv2D(32, 3, padding="same", activation="relu"),
        keras.layers.Conv2D(64, 3, padding="same", activation="relu"),
        keras.layers.MaxPooling2D(),
        keras.layers.Conv2D(128, 3, padding="same", activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dropout(0.5),
        keras.layers.Dense(128, activation="relu"),
        keras.layers.Dropout(0.3),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
epochs, batch = 8, 128
steps = epochs * -(-len(x_train) // batch)
model.compile(
    optimizer=keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(2e-3, steps)),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
)
model.fit(x_train, y_train, batch_size=batch, epochs=epochs, verbose=2)

loss, accuracy = model.evaluate(x_test, y_test, verbose=0)
print(f"test accuracy {accuracy:.4f} on {len(x_test)} digits that were not trained on")
if accuracy < 0.98:
    raise SystemExit(f"expected at least 0.98, got {accuracy:.4f}")
