"""Lines of TPUs."""

from __future__ import annotations

from paceline.failures.row import Kind, Row

_CAUSE = Kind.CAUSE
_TF = "https://github.com/tensorflow/tensorflow/issues/"

ROWS = (
    Row(
        "tpu-in-use",
        _CAUSE,
        r"The TPU is already in use by process with pid (?P<pid>\d+)"
        r"|libtpu\.so (?:is )?already in use(?:d)? by another process",
        "Another process has the TPU.",
        "sudo lsof -w /dev/accel0 /dev/vfio/* shows which; end it (also after a crash)",
        "https://github.com/jax-ml/jax/issues/22070",
    ),
    Row(
        "tpu-none",
        _CAUSE,
        r"(?:No TPU|TPU not) found|Cannot find any TPU cores in the system|No library called libtpu"
        r"|TPU_SYSTEM.*not available",
        "TensorFlow finds no TPU: none is attached, or this TensorFlow is built without.",
        "on a TPU VM: pip install tensorflow-tpu -f https://storage.googleapis.com/libtpu-tf-releases/index.html",
        _TF + "89797",
    ),
    Row(
        "tpu-input-device",
        _CAUSE,
        r"Failed copying input tensor from \S+task:(?P<rank>\d+)\S* to \S+task:(?P<other>\d+)",
        "Data was made on host {rank} and cannot go to host {other}.",
        "strategy.distribute_datasets_from_function(make): each host makes its own",
        _TF + "45899",
    ),
    Row(
        "tpu-preempted",
        _CAUSE,
        r"TPU (?:node|worker|VM)? ?\S* ?(?:was|has been) preempted|state: PREEMPTED",
        "The TPU was taken away.",
        "delete it and make another (queued resources do that), and go on from a checkpoint",
        "https://cloud.google.com/tpu/docs/preemptible",
    ),
    Row(
        "tpu-cpu-device",
        _CAUSE,
        r"Device /job:\S+/device:CPU:0 is not found",
        "Keras 3 reads a variable of a TPU on the CPU.",
        "use Keras 3.10 or newer with tensorflow-tpu of the same version",
        _TF + "74926",
    ),
    Row(
        "tpu-mesh",
        _CAUSE,
        r"Failed to meet rendezvous '(?P<what>\w+)'",
        "The processes of a TPU job did not find each other.",
        "start one process for each host, all at the same time",
        "https://github.com/pytorch/xla/issues/2119",
    ),
    Row(
        "tpu-transfer-manager",
        _CAUSE,
        r"could not find registered transfer manager for platform",
        "An operation of the model does not exist on a TPU.",
        "replace that operation (the line before names it), or train on GPUs",
        "https://github.com/keras-team/tf-keras/issues/655",
    ),
)
