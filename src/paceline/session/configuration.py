"""What a script gets when it configures TensorFlow: what the job decided stays, and a word about it.

TensorFlow forbids some calls of `tf.config` once it has started (2.19 to 2.21: those below, of all that are public).
Under paceline it has started before the script, so they would fail where plain `python` lets them pass.

========================================== =======================================================
`threading.set_intra_op_parallelism_...`,  without effect: a worker has its share of the cores
`threading.set_inter_op_parallelism_...`
`set_visible_devices`                      without effect: devices are the job's
`set_logical_device_configuration`         the same; also as `experimental.set_virtual_device_...`
`experimental.set_memory_growth`           without effect where it would turn growth off
`experimental_connect_to_cluster`,         do not raise. Several workers: without effect where they would
`experimental_connect_to_host`             reach for the job's own cluster, or change the server of RING
all others                                 untouched: they work at any time
========================================== =======================================================

What asks for what is so already passes without a word, and bad arguments raise as they always did.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context, remote
from tensorflow.python.training.server_lib import ClusterSpec

from paceline.worker.environment import Threads

Tell = Callable[[str], None]
#: From a call's arguments to the line that is said; empty where what it asks for is so already.
Explain = Callable[..., str]


def install(job: Mapping[str, Any], threads: Threads, tell: Tell) -> None:
    """Makes calls that come too late pass without effect. Once per worker, before the script. Collective: no.

    Args:
        job: job.json.
        threads: What TensorFlow has started with.
        tell: Shows a person one line, the first time that it is said.
    """
    kind = context.Context  # all public names of a function end here, those of tf.compat.v1 too
    for name, now in (("intra", threads.intra_op), ("inter", threads.inter_op)):
        attribute = f"{name}_op_parallelism_threads"
        found = getattr(kind, attribute)
        explain: Explain = functools.partial(explain_threads, name, now)
        setattr(kind, attribute, property(found.fget, _lenient(found.fset, _without_context(explain), tell)))
    for name, explain in (
        ("set_visible_devices", _explain_visible),
        ("set_logical_device_configuration", _explain_logical),
        ("set_memory_growth", _without_context(explain_memory_growth)),
    ):
        setattr(kind, name, _lenient(getattr(kind, name), explain, tell))
    if int(job["num_workers"]) > 1:
        _keep_cluster(job, tell)


def _lenient(original: Any, explain: Explain, tell: Tell) -> Any:
    """Returns `original`, which says a word where it would have raised because TensorFlow has started."""

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, *args, **kwargs)
        except RuntimeError:
            if self._context_handle is None:  # it has not started: this is about something else
                raise
            if text := explain(self, *args, **kwargs):
                tell(text)
            return None

    return call


def _without_context(explain: Explain) -> Explain:
    return lambda _context, *args, **kwargs: explain(*args, **kwargs)


# -- threads ---------------------------------------------------------------------------------


def explain_threads(kind: str, now: int, asked: Any) -> str:
    """Returns what is said of a number of threads that is not set; empty if it is in effect.

    Args:
        kind: "intra" or "inter".
        now: Threads that TensorFlow has started with.
        asked: Those that the script wants; 0 leaves them to TensorFlow.

    >>> explain_threads("intra", 1, 0)
    ''
    """
    if asked in (0, now):
        return ""
    started = f"TensorFlow has started, with {now} thread{'s' if now != 1 else ''}"
    return (
        f"tf.config.threading.set_{kind}_op_parallelism_threads({asked}) is without effect: {started}; "
        f"paceline run --env TF_NUM_{kind.upper()}OP_THREADS={asked} sets it"
    )


# -- devices ---------------------------------------------------------------------------------


def _explain_visible(known: Any, devices: Any, device_type: str | None = None) -> str:
    devices = devices if isinstance(devices, list) else [devices]
    return explain_visible(known.get_visible_devices(), devices, device_type)


def explain_visible(now: Iterable[Any], asked: list[Any], device_type: str | None) -> str:
    """Returns what is said of visible devices that are not set; empty if they are those of the job.

    Args:
        now: Those that are visible.
        asked: Those that the script wants, of all types or of `device_type`.
        device_type: "GPU", "CPU" or None.
    """
    before = [d for d in now if device_type in (None, d.device_type)]
    # The order among the devices of one type is that of their names; that of types means nothing.
    kinds = {d.device_type for d in [*before, *asked]}
    if all(_of(kind, before) == _of(kind, asked) for kind in kinds):
        return ""
    what = _names(asked) + (f", {device_type!r}" if device_type else "")
    text = f"tf.config.set_visible_devices({what}) is without effect: TensorFlow has started, with {_names(before)}"
    if _of("GPU", before) != _of("GPU", asked):
        text += '; paceline run --devices 0,1 chooses GPUs, --devices "" hides them'
    return text


def _of(kind: str, devices: Iterable[Any]) -> list[Any]:
    return [d for d in devices if d.device_type == kind]


def _explain_logical(known: Any, dev: Any, virtual_devices: list[Any]) -> str:
    return explain_logical(len(known.get_logical_device_configuration(dev) or [None]), dev, virtual_devices)


def explain_logical(now: int, device: Any, asked: list[Any]) -> str:
    """Returns what is said of a device that is not divided; empty if it is divided so.

    Args:
        now: Logical devices that `device` has.
        device: The physical device.
        asked: A `tf.config.LogicalDeviceConfiguration` for each logical device.
    """
    is_gpu = device.device_type == "GPU"
    if not is_gpu and len(asked) == now:
        return ""
    limits = [one.memory_limit for one in asked]
    what = f"{len(asked)} logical devices" if len(asked) != 1 else "1 logical device"
    if is_gpu:
        what += f" of {', '.join(str(limit) for limit in limits)} MB"
        instead = "it has one, which takes memory as it needs it; paceline run has no option to divide a GPU"
    else:
        instead = (
            f"it has {now}; paceline run --strategy mirrored --replicas-per-worker {len(asked)} makes {len(asked)}"
        )
    return (
        f"tf.config.set_logical_device_configuration({_name(device)}, {what}) is without effect: "
        f"TensorFlow has started, and {instead}"
    )


def explain_memory_growth(dev: Any, enable: Any) -> str:
    """Returns what is said of memory growth that is not set; where it is as asked, TensorFlow passes."""
    # TensorFlow asks the variable when it makes the allocator (GetAllowGrowthValue, gpu_bfc_allocator.cc).
    return (
        f"tf.config.experimental.set_memory_growth({_name(dev)}, {enable}) is without effect: TensorFlow has started, "
        f"and {'takes all memory at once' if enable else 'takes memory as it needs it'}; "
        f"paceline run --env TF_FORCE_GPU_ALLOW_GROWTH={'true' if enable else 'false'} decides it"
    )


def _names(devices: Iterable[Any]) -> str:
    return f"[{', '.join(_name(device) for device in devices)}]"


def _name(device: Any) -> str:
    return str(device.name).removeprefix("/physical_device:")


# -- cluster ---------------------------------------------------------------------------------


def _keep_cluster(job: Mapping[str, Any], tell: Tell) -> None:
    """Makes connecting to the job's own cluster a matter of the job: over MPI nobody listens on its addresses.

    Over RING and NCCL TensorFlow has a server already; another one ends the process, or later its collectives.
    """
    original = remote.connect_to_cluster
    own = {address for tasks in (job.get("cluster") or {}).values() for address in tasks}

    @functools.wraps(original)
    def connect_to_cluster(cluster_spec_or_resolver: Any, *args: Any, **kwargs: Any) -> None:
        asked = _addresses(cluster_spec_or_resolver)
        if asked and (job["transport"] != "mpi" or not own.isdisjoint(asked)):
            tell(
                f"tf.config.experimental_connect_to_cluster({', '.join(sorted(asked)[:3])}) is without effect: "
                "the job has a cluster of its own, and its workers are connected"
            )
            return
        original(cluster_spec_or_resolver, *args, **kwargs)

    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", {})
        if names.get("experimental_connect_to_cluster") is original:
            module.experimental_connect_to_cluster = connect_to_cluster  # type: ignore[attr-defined]
    remote.connect_to_cluster = connect_to_cluster


def _addresses(cluster: Any) -> set[str]:
    """Returns the addresses of a cluster spec, or of a resolver's; none where TensorFlow would connect to nothing."""
    if isinstance(cluster, tf.distribute.cluster_resolver.ClusterResolver):
        if cluster.master() in ("", "local"):
            return set()
        cluster = cluster.cluster_spec()
    if not isinstance(cluster, ClusterSpec):
        return set()
    return {address for tasks in cluster.as_dict().values() for address in _values(tasks)}


def _values(tasks: Any) -> Iterable[str]:
    return tasks.values() if isinstance(tasks, dict) else tasks
