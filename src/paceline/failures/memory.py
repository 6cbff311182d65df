"""Lines about memory of the host: the kernel's, Python's, TensorFlow's allocator."""

from __future__ import annotations

from paceline.failures.row import Kind, Row

_CAUSE, _NOISE = Kind.CAUSE, Kind.NOISE
_SMALLER = "use a smaller batch, or read the data in pieces (tf.data) instead of whole arrays"

ROWS = (
    Row(
        "kernel-oom-kill",
        _CAUSE,
        r"(?:Out of memory|Memory cgroup out of memory): Kill(?:ed)? process (?P<pid>\d+) \((?P<what>[^)]*)\)",
        "The kernel ran out of memory and killed process {pid} ({what}).",
        "give the job more memory or start fewer workers on this host; " + _SMALLER,
        "https://www.kernel.org/doc/html/latest/admin-guide/mm/concepts.html#oom-killer",
    ),
    Row(
        "oom-when-allocating",
        _CAUSE,
        r"OOM when allocating tensor with shape(?P<shape>\[[\d,]*\]) and type (?P<type>\w+) on (?P<device>\S+CPU:\d+)",
        "The host has not enough memory for a tensor of shape {shape} ({type}).",
        _SMALLER,
        "https://github.com/tensorflow/tensorflow/issues/45238",
    ),
    Row(
        "numpy-memory",
        _CAUSE,
        r"Unable to allocate (?P<size>[\d.]+ \w+) for an array with shape (?P<shape>\([\d, ]*\))",
        "The host has not enough memory for an array of {size}, shape {shape}.",
        _SMALLER + "; np.load(..., mmap_mode='r') reads what is used only",
        "https://numpy.org/doc/stable/reference/generated/numpy.memmap.html",
    ),
    Row(
        "cannot-allocate",
        _CAUSE,
        r"(?:\[Errno 12\] )?Cannot allocate memory|std::bad_alloc",
        "The operating system refused memory: the host's is used up, or a limit (ulimit -v, cgroup) is reached.",
        "give the job more memory; " + _SMALLER,
        "https://docs.python.org/3/library/exceptions.html#MemoryError",
    ),
    Row(
        "python-memory",
        _CAUSE,
        r"^(?:\w+\.)*MemoryError\b",
        "Python got no more memory: the host's is used up, or a limit (ulimit -v, cgroup) is reached.",
        _SMALLER,
        "https://docs.python.org/3/library/exceptions.html#MemoryError",
    ),
    Row(
        "dataloader-shm",
        _CAUSE,
        r"\(/dev/shm\)|shared memory \(shm\)",
        "The container's shared memory, /dev/shm, is full.",
        "docker run --shm-size=8g ..., or in Kubernetes an emptyDir of medium Memory at /dev/shm",
        "https://docs.docker.com/reference/cli/docker/container/run/",
    ),
    Row(
        "allocation-exceeds",
        _NOISE,
        r"Allocation of (?P<size>\d+) exceeds \d+% of free system memory",
        "A large array was copied; a sign of high memory use, not a failure.",
        "",
        "https://github.com/tensorflow/tensorflow/blob/v2.21.0/tensorflow/core/framework/cpu_allocator_impl.cc",
    ),
)
