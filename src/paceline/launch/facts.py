"""What this machine offers. Looks, decides nothing."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import math
import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from paceline import __version__, versions
from paceline.tuning import cache

_NVIDIA_SMI_LIMIT_S = 20.0
_NO_DEVICE = ("", "-1", "none", "NoDevFiles")


@dataclass(frozen=True, kw_only=True)
class MachineFacts:
    """Facts about this host and this Python.

    Attributes:
        host: Name of this machine.
        cpus: Cores that this process may run on.
        cpu_quota: Cores' worth of time that the control group grants; ``None``: no limit.
        gpus: Ids for ``CUDA_VISIBLE_DEVICES`` of the GPUs that may be used.
        gpus_source: Where ``gpus`` was learned.
        tensorflow_uses_gpus: ``False`` where only the CPU build of TensorFlow is installed.
        memory_bytes: Memory that this machine has, or the control group grants; ``None``: not known.
        shared_memory_bytes: Free space for memory shared by processes; ``None``: not known.
        has_tf_config: Whether the environment describes a cluster, which is not this job's.
        mpi4py: Version, or ``None``.
        mpich: Version of the MPI library from PyPI, or ``None``.
        ring_tunings: What ``paceline tune`` has kept for this site, by number of workers.
    """

    host: str
    cpus: tuple[int, ...]
    cpu_quota: int | None = None
    gpus: tuple[str, ...] = ()
    gpus_source: str = ""
    tensorflow_uses_gpus: bool = True
    memory_bytes: int | None = None
    shared_memory_bytes: int | None = None
    has_tf_config: bool = False
    mpi4py: str | None = None
    mpich: str | None = None
    ring_tunings: Mapping[int, cache.Found] = field(default_factory=dict)

    @property
    def num_cores(self) -> int:
        """Cores that a job here can keep busy."""
        return min(len(self.cpus), self.cpu_quota or len(self.cpus))


def collect(environ: Mapping[str, str]) -> MachineFacts:
    """Returns the facts of this host; imports neither TensorFlow nor MPI."""
    gpus, source = _gpus(environ)
    return MachineFacts(
        host=os.uname().nodename,
        cpus=tuple(sorted(os.sched_getaffinity(0))),
        cpu_quota=_cpu_quota(),
        gpus=gpus,
        gpus_source=source,
        tensorflow_uses_gpus=_version("tensorflow") is not None or _version("tensorflow-cpu") is None,
        memory_bytes=_memory_bytes(),
        shared_memory_bytes=_shared_memory_bytes(),
        has_tf_config=environ.get("TF_CONFIG", "").strip() not in {"", "{}"},
        mpi4py=_version("mpi4py") if importlib.util.find_spec("mpi4py") else None,
        mpich=_version("mpich"),
        ring_tunings=cache.find(environ, site()),
    )


def site() -> cache.Site:
    """Returns where and with what something is measured here."""
    return cache.Site(
        hosts=(os.uname().nodename,),
        tensorflow=versions.installed().tensorflow or "",
        paceline=__version__,
        cpu_model=_cpu_model(),
    )


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _gpus(environ: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    """Returns the ids of the GPUs that may be used and where that was learned."""
    visible = environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        ids = tuple(word.strip() for word in visible.split(","))
        # CUDA ignores everything from the first invalid id on.
        stop = next((i for i, word in enumerate(ids) if word in _NO_DEVICE), len(ids))
        return ids[:stop], f"CUDA_VISIBLE_DEVICES={visible}"
    if shutil.which("nvidia-smi") is None:
        return (), "no nvidia-smi here"
    try:
        answer = subprocess.run(
            ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=_NVIDIA_SMI_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return (), "nvidia-smi did not answer"
    if answer.returncode != 0:
        return (), f"nvidia-smi ended with {answer.returncode}"
    return tuple(line.strip() for line in answer.stdout.splitlines() if line.strip().isdecimal()), "nvidia-smi"


def _cpu_model(path: Path = Path("/proc/cpuinfo")) -> str:
    """Returns what the processor calls itself; ARM's have a number only."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                name, _, value = line.partition(":")
                if name.strip() in {"model name", "CPU part"}:
                    return value.strip()
    except OSError:
        pass
    return platform.machine()


def _cpu_quota(root: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Returns how many cores' worth of time the control group grants (containers), or ``None``."""
    try:
        quota, period = (root / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:
            quota = (root / "cpu/cpu.cfs_quota_us").read_text()
            period = (root / "cpu/cpu.cfs_period_us").read_text()
        except OSError:
            return None
    try:
        cores = math.ceil(int(quota) / int(period))
    except (ValueError, ZeroDivisionError):  # "max"
        return None
    return cores if cores > 0 else None


def _memory_bytes(root: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Returns the smaller of the machine's memory with swap and what the control group grants (containers)."""
    known = []
    try:
        lines = (line.split() for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
        known.append(sum(int(words[1]) * 1024 for words in lines if words[0] in ("MemTotal:", "SwapTotal:")))
    except (OSError, ValueError, IndexError):
        pass
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            known.append(int((root / name).read_text(encoding="ascii")))
        except (OSError, ValueError):  # not this version of control groups, or "max"
            continue
    return min(known, default=None)


def _shared_memory_bytes(folder: str = "/dev/shm") -> int | None:  # noqa: S108  where Linux keeps it
    """Returns the space that is left; containers often have 64 MiB, some none that can be written."""
    try:
        space = os.statvfs(folder)
    except OSError:
        return None
    return space.f_bavail * space.f_frsize if os.access(folder, os.W_OK) else 0
