"""What was measured on: facts that a reader needs to judge the numbers, and none that names the machine."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

_IDLE_DRIVER = Path("/sys/devices/system/cpu/cpuidle/current_driver")
_HALT_POLL = Path("/sys/module/haltpoll/parameters/guest_halt_poll_ns")
_DISTRIBUTIONS = (
    ("TensorFlow", ("tensorflow-cpu", "tensorflow")),
    ("Keras", ("keras",)),
    ("tf_keras", ("tf-keras",)),
    ("JAX", ("jax",)),
    ("PyTorch", ("torch",)),
    ("mpi4py", ("mpi4py",)),
    ("MPICH", ("mpich",)),
    ("NumPy", ("numpy",)),
)


def facts() -> dict[str, Any]:
    """Returns CPU, cores, memory, versions, date, and how busy the machine is now."""
    cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    return {
        "date": dt.datetime.now(dt.timezone.utc).date().isoformat(),
        "cpu": cpu_model(cpuinfo),
        "num_cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30),
        "load_before": round(os.getloadavg()[0], 2),
        "idle": idle_of_a_guest(_IDLE_DRIVER, _HALT_POLL) if _is_guest(cpuinfo) else "",
        "versions": {"Python": platform.python_version(), **_versions(), "paceline": _commit()},
    }


def idle_of_a_guest(driver: Path, parameter: Path) -> str:
    """Returns what this virtual machine's cores do when they have nothing to do.

    A core that halts is given to another machine by the host, for milliseconds at a time: then every contestant whose
    threads wait for each other is measured by the host's clock. The driver `haltpoll` has cores wait before they halt.

    Args:
        driver: File that names the driver in use.
        parameter: File that says how long `haltpoll` waits at most, which is there also where that is not in use.
    """
    poll_ns = _text_of(parameter)
    if _text_of(driver) != "haltpoll" or not poll_ns.isdecimal() or int(poll_ns) == 0:
        return "A virtual machine whose idle cores halt at once: the host may keep each for milliseconds."
    return f"A virtual machine whose idle cores wait {int(poll_ns) / 1e6:g} ms before they halt (`guest_halt_poll_ns`)."


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _is_guest(cpuinfo: str) -> bool:
    return any("hypervisor" in line.split() for line in cpuinfo.splitlines() if line.startswith("flags"))


def cpu_model(cpuinfo: str) -> str:
    """Returns the name of the CPU.

    >>> cpu_model("processor : 0\\nmodel name : A fast one\\n")
    'A fast one'
    """
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def _versions() -> dict[str, str]:
    found = {}
    for title, names in _DISTRIBUTIONS:
        for name in names:
            try:
                found[title] = importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                continue
            break
    return found


def _commit() -> str:
    """Returns the commit that is measured, which says more than a version, and whether `src` was changed since."""
    commit = _git("rev-parse", "--short", "HEAD")
    return f"{commit} with changes" if _git("status", "--porcelain", "--", "src") else commit or "unknown"


def _git(*words: str) -> str:
    """Returns what git says of this checkout; nothing where there is none."""
    folder = Path(__file__).parent.parent
    try:
        answer = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return answer.stdout.strip()
