"""The models, for any Keras: `keras` is Keras 3 or tf_keras."""


def mlp(keras):
    """The article's MLP, without its Dropout: 784-256-128-10 with BatchNorm."""
    return keras.Sequential(
        [
            keras.layers.Input((784,)),
            keras.layers.Dense(256, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(128, activation="relu"),
            keras.layers.BatchNormalization(),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )


def cnn(keras):
    """The article's CNN on 64x64 images."""
    images = keras.layers.Input((64, 64, 3))
    features = keras.layers.Conv2D(64, 3, padding="same", activation="relu")(images)
    features = keras.layers.MaxPooling2D()(features)
    features = keras.layers.Conv2D(128, 3, padding="same", activation="relu")(features)
    features = keras.layers.GlobalAveragePooling2D()(features)
    features = keras.layers.Dropout(0.4)(features)
    return keras.Model(images, keras.layers.Dense(1000, activation="softmax")(features))


def wide(keras):
    """25 million parameters, 100 MB of gradients."""
    widths = (4096, 4096, 1200)
    hidden = [keras.layers.Dense(width, activation="relu") for width in widths]
    return keras.Sequential([keras.layers.Input((784,)), *hidden, keras.layers.Dense(10, activation="softmax")])


MODELS = {"mlp": mlp, "cnn": cnn, "wide": wide}
OPTIMIZERS = {"mlp": "adam", "cnn": "adam", "wide": "sgd"}


def compiled(keras, name, **options):
    """Returns a model as the benchmark compiles it, with `options` for `compile`."""
    model = MODELS[name](keras)
    model.compile(OPTIMIZERS[name], "sparse_categorical_crossentropy", metrics=["accuracy"], **options)
    return model
