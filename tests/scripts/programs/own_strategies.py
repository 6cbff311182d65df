"""Builds every strategy it knows, after everything that should come later."""

import json
import os
import sys
import threading

import keras
import numpy as np
import tensorflow as tf
from facts import digest, note, rank, table, weights

note(tf_config_before=json.loads(os.environ.get("TF_CONFIG", "null")))
os.environ["TF_CONFIG"] = json.dumps(
    {"cluster": {"worker": ["10.255.255.1:2222", "10.255.255.2:2222"]}, "task": {"type": "worker", "index": 0}}
)
keras.backend.clear_session()
early = tf.constant([1.0, 2.0]) + 1.0
seen = []
threading.Thread(target=lambda: seen.append(float(tf.reduce_sum(early)))).start()

with_options = tf.distribute.MultiWorkerMirroredStrategy(
    cluster_resolver=tf.distribute.cluster_resolver.TFConfigClusterResolver(),
    communication_options=tf.distribute.experimental.CommunicationOptions(
        implementation=tf.distribute.experimental.CommunicationImplementation.NCCL
    ),
)
mirrored = tf.distribute.MirroredStrategy(devices=["/gpu:0", "/gpu:1"], cross_device_ops=tf.distribute.NcclAllReduce())
reduction = tf.distribute.MirroredStrategy(cross_device_ops=tf.distribute.ReductionToOneDevice())
plain = tf.distribute.MultiWorkerMirroredStrategy()
experimental = tf.distribute.experimental.MultiWorkerMirroredStrategy(
    tf.distribute.experimental.CollectiveCommunication.RING
)
one = tf.distribute.OneDeviceStrategy("/gpu:0")
from_thread = []
thread = threading.Thread(target=lambda: from_thread.append(tf.distribute.get_strategy()))
thread.start()
thread.join()

import paceline  # noqa: E402

made = [with_options, mirrored, reduction, plain, experimental, one, paceline.strategy(), tf.distribute.get_strategy()]
note(
    isinstance=[
        isinstance(with_options, tf.distribute.MultiWorkerMirroredStrategy),
        isinstance(mirrored, tf.distribute.MirroredStrategy),
        isinstance(experimental, tf.distribute.experimental.MultiWorkerMirroredStrategy),
        isinstance(one, tf.distribute.OneDeviceStrategy),
        isinstance(plain, tf.distribute.Strategy),
    ],
    one_object=len({id(strategy) for strategy in [*made, *from_thread]}) == 1,
    has_strategy=tf.distribute.has_strategy(),
    replicas=mirrored.num_replicas_in_sync,
    place=[paceline.rank(), paceline.num_workers(), paceline.is_chief(), paceline.strategy().num_replicas_in_sync],
    task=[getattr(plain.cluster_resolver, "task_type", None), getattr(plain.cluster_resolver, "task_id", None)],
)

with mirrored.scope(), one.scope():
    model = keras.Sequential([keras.Input([6]), keras.layers.Dense(3)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
x, y = table()
history = model.fit(
    plain.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices((x, y)).batch(16)), verbose=0
)
note(losses=history.history["loss"], weights=weights(model), digest=digest(*model.get_weights()), argv=sys.argv[1:])
assert np.isfinite(history.history["loss"]).all(), rank()
