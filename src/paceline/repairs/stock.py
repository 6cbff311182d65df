"""What the witnesses share: a stock MirroredStrategy over two logical CPU devices and a tiny model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def two_replicas() -> Any:
    """Returns stock TensorFlow's MirroredStrategy over two CPU devices of this process."""
    import tensorflow as tf

    devices = tf.config.list_physical_devices("CPU")
    if len(tf.config.get_logical_device_configuration(devices[0]) or []) != 2:
        tf.config.set_logical_device_configuration(devices[0], [tf.config.LogicalDeviceConfiguration()] * 2)
    return tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])


def line_model(strategy: Any, optimizer: Callable[[], Any], loss: Any = "mse", **compile_options: Any) -> Any:
    """Returns a compiled model of one weight, `y = w x` with w = 0, made under `strategy`."""
    import keras

    with strategy.scope():
        model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")])
        model.compile(optimizer(), loss, **compile_options)
    return model


def fails(action: Callable[[], Any]) -> bool:
    """Returns whether `action` raises."""
    try:
        action()
    except Exception:  # noqa: BLE001  any failure is what the witness looks for
        return True
    return False


def ones(rows: int) -> Any:
    """Returns `rows` rows of x = 1 and y = 1 as one array each."""
    import numpy as np

    return np.ones((rows, 1), "float32"), np.ones((rows, 1), "float32")
