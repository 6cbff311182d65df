"""Lines of NCCL."""

from __future__ import annotations

from paceline.failures.row import Kind, Row

_CAUSE, _AFTER, _NOISE = Kind.CAUSE, Kind.CONSEQUENCE, Kind.NOISE
_ENV = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html"
_HELP = "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html"
_INTERFACE = "ip -br addr shows the interfaces; export NCCL_SOCKET_IFNAME=eth0 (the one that reaches the other hosts)"

ROWS = (
    Row(
        "nccl-gpu-memory",
        _CAUSE,
        r"NCCL WARN Cuda failure (?:\d+ )?'out of memory'",
        "NCCL got no memory on the GPU: TensorFlow, or another process, has all of it.",
        "nvidia-smi shows who has it; TF_FORCE_GPU_ALLOW_GROWTH=true, or a smaller batch",
        "https://github.com/NVIDIA/nccl/issues/1235",
    ),
    Row(
        "nccl-driver-too-old",
        _CAUSE,
        r"Cuda failure (?:\d+ )?'CUDA driver version is insufficient",
        "The GPU's driver is older than the CUDA version that NCCL was built with.",
        "nvidia-smi shows the driver; install a newer one, or TensorFlow for an older CUDA",
        _HELP,
    ),
    Row(
        "nccl-duplicate-gpu",
        _CAUSE,
        r"Duplicate GPU detected : rank (?P<rank>\d+) and rank (?P<other>\d+) both on CUDA device (?P<gpu>\w+)",
        "Workers {rank} and {other} use the same GPU ({gpu}).",
        "give each worker a GPU of its own: CUDA_VISIBLE_DEVICES, or paceline run --devices 0,1",
        _HELP,
    ),
    Row(
        "nccl-cuda",
        _CAUSE,
        r"NCCL WARN (?:\S+: )?Cuda failure (?:\d+ )?'(?P<why>[^']+)'",
        "A call to the GPU failed inside NCCL: {why}.",
        "nvidia-smi, and dmesg | grep -i xid; another CUDA error above it may be the first",
        "https://github.com/NVIDIA/nccl/issues/1283",
    ),
    Row(
        "nccl-connect",
        _CAUSE,
        r"NCCL WARN (?:\w+: )?(?:Call to connect|Connect) to (?P<host>\S+) (?:returned|failed)",
        "NCCL cannot reach {host}: it took an interface that does not reach the other host, or a firewall is between.",
        _INTERFACE,
        "https://github.com/NVIDIA/nccl-tests/issues/166",
    ),
    Row(
        "nccl-connect-old",
        _CAUSE,
        r"WARN Call to connect (?:failed|returned|timeout)|Call to (?:bind|listen) failed",
        "NCCL cannot reach another host: wrong interface, or a firewall is between.",
        _INTERFACE,
        "https://github.com/NVIDIA/nccl-tests/issues/15",
    ),
    Row(
        "nccl-no-interface",
        _CAUSE,
        r"NCCL WARN (?:Bootstrap|NET/Socket) ?: no (?:socket )?(?:usable )?interface",
        "NCCL finds no network interface by the name that NCCL_SOCKET_IFNAME asks for.",
        _INTERFACE,
        _ENV,
    ),
    Row(
        "nccl-ib-completion",
        _CAUSE,
        r"NET/IB ?: Got completion from peer (?P<host>\S+) with (?:error|status=)",
        "InfiniBand lost the connection to {host}: a cable, a switch or its settings, or the peer ended.",
        "ibstat and ibv_devinfo on both hosts; NCCL_IB_DISABLE=1 takes Ethernet, to see whether it is InfiniBand",
        "https://github.com/tatsu-lab/stanford_alpaca/issues/207",
    ),
    Row(
        "nccl-memlock",
        _CAUSE,
        r"NCCL WARN Call to ibv_\w+ failed(?: with error (?P<why>.*))?",
        "NCCL cannot use InfiniBand ({why}); most often the limit of locked memory is too small.",
        "ulimit -l unlimited (docker run --ulimit memlock=-1); or NCCL_IB_DISABLE=1",
        "https://github.com/deepseek-ai/DeepEP/issues/143",
    ),
    Row(
        "nccl-no-ibverbs",
        _NOISE,
        r"Failed to open libibverbs\.so",
        "This machine has no InfiniBand library; NCCL takes Ethernet.",
        "",
        "https://github.com/tensorflow/tensorflow/issues/40277",
    ),
    Row(
        "nccl-version-mismatch",
        _CAUSE,
        r"NCCL WARN (?:Mismatched NCCL version|NCCL version mismatch|.*Unexpected (?:NCCL )?version)",
        "The workers have different versions of NCCL.",
        "install the same TensorFlow everywhere: pip list | grep -i nccl on each host",
        _HELP,
    ),
    Row(
        "nccl-peer-gone",
        _AFTER,
        r"(?:Connection closed by remote peer|Socket recv failed|ncclRemoteError|remote process exited)"
        r"(?: (?P<host>\S+<\d+>))?",
        "A peer of NCCL is gone: it ended, or its network did.",
        "look at the output of the other workers for an earlier error",
        "https://github.com/NVIDIA/nccl-tests/issues/166",
    ),
    Row(
        "nccl-proxy",
        _AFTER,
        r"NCCL WARN \[(?:Proxy Service|Service thread)[^\]]*\]",
        "NCCL's own threads give up after a failure.",
        "look at the NCCL WARN lines before it",
        "https://github.com/NVIDIA/nccl-tests/issues/166",
    ),
    Row(
        "nccl-system-error",
        _AFTER,
        r"ncclSystemError|unhandled system error",
        "A call to the operating system failed inside NCCL (network, shared memory); a NCCL WARN line says which.",
        "run again with NCCL_DEBUG=WARN (paceline run --verbose-communication) and read the first NCCL WARN line",
        "https://github.com/NVIDIA/nccl/issues/529",
    ),
    Row(
        "nccl-cuda-error",
        _AFTER,
        r"ncclUnhandledCudaError|unhandled cuda error",
        "A call to the GPU failed inside NCCL; a NCCL WARN line says which.",
        "run again with NCCL_DEBUG=WARN (paceline run --verbose-communication) and read the first NCCL WARN line",
        "https://github.com/NVIDIA/nccl/issues/1283",
    ),
    Row(
        "nccl-internal-error",
        _AFTER,
        r"ncclInternalError|ncclInvalidUsage|'internal error - please report",
        "NCCL failed; the first NCCL WARN line says more.",
        "run again with NCCL_DEBUG=WARN (paceline run --verbose-communication) and read the first NCCL WARN line",
        "https://github.com/NVIDIA/nccl-tests/issues/166",
    ),
    Row(
        "nccl-warn",
        _CAUSE,
        r"NCCL WARN (?P<why>.+)",
        "NCCL says: {why}.",
        "look it up in NCCL's own page of troubleshooting; NCCL_DEBUG=INFO tells more",
        _HELP,
        is_general=True,
    ),
    Row("nccl-info", _NOISE, r"NCCL INFO ", "NCCL tells what it does.", "", _ENV),
)
