"""Input pipelines as people write them, on a machine with many cores: TensorFlow runs them in any order."""

import sys
import time

import keras
import numpy as np
import tensorflow as tf
from facts import digest, note, rank

THREADS = int(sys.argv[1])
AUTOTUNE = tf.data.AUTOTUNE
FILES, ROWS = 4, 24
rng = np.random.default_rng(5)
images = rng.random((FILES * ROWS, 12, 12, 3), np.float32)
labels = rng.integers(0, 3, FILES * ROWS)


def write_files():
    """Writes the images to files, one set for each worker: all write at the same time."""
    names = [f"{rank()}-{number}.tfrecord" for number in range(FILES)]
    for number, name in enumerate(names):
        with tf.io.TFRecordWriter(name) as writer:
            for row in range(number * ROWS, (number + 1) * ROWS):
                writer.write(tf.io.serialize_tensor(images[row]).numpy())
    return names


def parse(text):
    return tf.ensure_shape(tf.io.parse_tensor(text, tf.float32), [12, 12, 3]), 1


def source():
    return tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(len(images))


def slow(image, label):
    """Takes longer for some images than for others."""
    wait = lambda value: (time.sleep(0.002 * (2 - value)), value)[1]  # noqa: E731
    return image, tf.ensure_shape(tf.numpy_function(wait, [label], tf.int64, stateful=False), [])


def crop(image, label):
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_brightness(image, 0.2)
    return tf.image.random_crop(image, (8, 8, 3)), label


def with_layers():
    layers = keras.Sequential([keras.layers.RandomFlip(), keras.layers.RandomRotation(0.2)])
    return (
        source().batch(8).map(lambda image, label: (layers(image, training=True), label), num_parallel_calls=AUTOTUNE)
    )


def with_generator():
    generator = tf.random.Generator.from_seed(3)
    drawn = source().map(lambda image, label: (image * generator.uniform([]), label), num_parallel_calls=AUTOTUNE)
    return drawn.batch(8)


def options():
    options = tf.data.Options()
    options.deterministic = False
    return source().map(slow, num_parallel_calls=8).batch(8).with_options(options)


def files():
    in_order = THREADS == 1  # an interleave has threads of its own
    names = tf.data.Dataset.from_tensor_slices(write_files())
    rows = names.interleave(
        lambda name: tf.data.TFRecordDataset(name).map(parse, num_parallel_calls=AUTOTUNE),
        cycle_length=FILES,
        num_parallel_calls=AUTOTUNE,
        deterministic=in_order,
    )
    return rows.map(crop, num_parallel_calls=AUTOTUNE, deterministic=in_order).batch(8)


PIPELINES = {
    "tf.image": lambda: source().map(crop, num_parallel_calls=AUTOTUNE).batch(8),
    "layers": with_layers,
    "generator": with_generator,
    "map": lambda: source().map(slow, num_parallel_calls=8, deterministic=False).batch(8),
    "options": options,
    "files": files,
}


def fit(data):
    keras.utils.set_random_seed(7)
    # Not built: Keras takes a look at the first batch.
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(3)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model.fit(data, epochs=2, verbose=0).history["loss"]


for name, make in PIPELINES.items():
    keras.utils.set_random_seed(7)
    threads = tf.data.Options()
    threads.threading.private_threadpool_size = THREADS
    data = make().prefetch(AUTOTUNE).with_options(threads)
    note(**{name: digest(*[part for batch in data.as_numpy_iterator() for part in batch])})
    if "paceline" in sys.modules:
        for _ in data.take(1):  # as one looks at a picture
            pass
        note(**{f"{name} loss": fit(data)})
