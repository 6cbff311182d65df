"""Configures TensorFlow in its first lines, in every way that TensorFlow has; then trains."""

import os
import subprocess

# What is so already, what is read later, and what is not.
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["XLA_FLAGS"] = ""
for _ in range(2):
    os.environ["TF_GPU_THREAD_COUNT"] = "17"

import tensorflow as tf  # noqa: E402  the variables come before it, as scripts have it

config, experimental = tf.config, tf.config.experimental
cpus = config.list_physical_devices("CPU")
now = int(os.environ.get("TF_NUM_INTRAOP_THREADS") or len(os.sched_getaffinity(0)))

# What is so already.
config.threading.set_intra_op_parallelism_threads(0)
config.threading.set_intra_op_parallelism_threads(now)
config.threading.set_inter_op_parallelism_threads(0)
config.set_visible_devices(cpus)
config.set_visible_devices(cpus[0], "CPU")
experimental.set_visible_devices([], "GPU")
alike = [config.LogicalDeviceConfiguration()] * len(config.list_logical_devices("CPU")[:2])
if "TF_CONFIG" in os.environ:  # over RING TensorFlow lists other workers' too
    alike = alike[:1]
config.set_logical_device_configuration(cpus[0], alike)

# What is not.
for _ in range(2):
    config.threading.set_intra_op_parallelism_threads(now + 1)
tf.compat.v1.config.threading.set_inter_op_parallelism_threads(99)
config.set_visible_devices([], "CPU")
config.set_logical_device_configuration(cpus[0], [config.LogicalDeviceConfiguration()] * 3)
experimental.set_virtual_device_configuration(cpus[0], [experimental.VirtualDeviceConfiguration()] * 4)

from facts import caught, digest, note, table  # noqa: E402

# What was wrong stays wrong.
with caught("growth of a CPU"):
    experimental.set_memory_growth(cpus[0], True)
with caught("no such device"):
    config.set_visible_devices([config.PhysicalDevice("/physical_device:GPU:9", "GPU")])
with caught("limit of a CPU"):
    config.set_logical_device_configuration(cpus[0], [config.LogicalDeviceConfiguration(memory_limit=1)])

# What works at any time.
works = {}
for set_it, get_it, values in (
    (config.set_soft_device_placement, config.get_soft_device_placement, (False, True)),
    (config.run_functions_eagerly, config.functions_run_eagerly, (True, False)),
    (config.optimizer.set_jit, config.optimizer.get_jit, ("autoclustering", "")),
    (experimental.set_device_policy, experimental.get_device_policy, ("warn", "silent")),
    (experimental.set_synchronous_execution, experimental.get_synchronous_execution, (False, True)),
    (experimental.enable_tensor_float_32_execution, experimental.tensor_float_32_execution_enabled, (False, True)),
):
    seen = []
    for value in values:
        set_it(value)
        seen.append(get_it())
    works[set_it.__name__] = seen == list(values)
config.optimizer.set_experimental_options({"constant_folding": True})
works["set_optimizer_experimental_options"] = config.optimizer.get_experimental_options()["constant_folding"]
for switch in (experimental.enable_mlir_bridge, experimental.disable_mlir_bridge, experimental.enable_op_determinism):
    works[switch.__name__] = switch() is None
note(
    works=works,
    changes=sorted(
        name
        for owner in (config, config.threading, config.optimizer, experimental)
        for name in dir(owner)
        if any(word in name for word in ("set_", "enable_", "disable_", "connect_", "run_functions")) and name[0] != "_"
        if not name.startswith(("get_", "reset_"))
    ),
    devices=len([d for d in config.list_logical_devices("CPU") if "/task:" not in d.name or "/task:0/" in d.name]),
)

import keras  # noqa: E402

# A cluster to connect to: the job's, where it has one.
config.experimental_connect_to_cluster(tf.distribute.cluster_resolver.TFConfigClusterResolver())
server = tf.distribute.Server({"worker": ["localhost:0"]}, protocol="grpc", start=True)
config.experimental_connect_to_host(server.target)

with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
    model = keras.Sequential([keras.Input([6]), keras.layers.Dense(3)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
history = model.fit(*table(), batch_size=10, epochs=2, shuffle=False, verbose=0)


def of_keras_2(x):
    """Looks like a step of legacy Keras."""
    return 2 * x


of_keras_2.__module__ = "tf_keras.src.engine.training"
with caught("a step of legacy Keras"):
    tf.distribute.get_strategy().run(of_keras_2, args=(tf.constant(1.0),))
for variable, value in (("KERAS_BACKEND", "jax"), ("TF_USE_LEGACY_KERAS", "1"), ("TF_USE_LEGACY_KERAS", "0")):
    with caught(f"{variable}={value}"):
        os.environ[variable] = value
note(child=subprocess.check_output(["sh", "-c", "echo $TF_GPU_THREAD_COUNT"]).decode().strip())
note(loss=history.history["loss"], digest=digest(*model.get_weights()))
