"""Which cluster is this process in: explicit > ``TF_CONFIG`` > local.

The only place of this room that reads ``os.environ``; with a mapping, it reads nothing else.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol, cast

from paceline.cluster.local import DEVICES_VARIABLE, devices_in
from paceline.cluster.spec import ClusterSpec

ENVIRONMENTS: dict[str, str] = {
    "tf_config": "paceline.cluster.tf_config",
    "local": "paceline.cluster.local",
}
"""Name -> module of each environment that can tell us the cluster; the order is the order of detection."""


class Environment(Protocol):
    """What a module of the table supplies. Both functions are pure and take every fact from the mapping."""

    def present(self, environ: Mapping[str, str]) -> bool:
        """Returns whether this environment is there."""

    def describe(self, environ: Mapping[str, str]) -> ClusterSpec | None:
        """Returns its cluster, or None where it turns out to describe none; raises ClusterError where it is wrong."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Detected:
    """A cluster, and which row of the table told it (``explicit`` where an argument did)."""

    environment: str
    spec: ClusterSpec


def detect(environ: Mapping[str, str] | None = None, *, explicit: ClusterSpec | None = None) -> Detected:
    """Returns the cluster that this process is in.

    Args:
        environ: The variables to read; by default ``os.environ``.
        explicit: A cluster given by argument; it wins over everything detected.

    Raises:
        ClusterError: The first environment that is present describes a cluster that cannot work.
    """
    variables = os.environ if environ is None else environ
    if explicit is not None:
        return Detected(environment="explicit", spec=explicit)
    for name, module in ENVIRONMENTS.items():
        environment = cast("Environment", importlib.import_module(module))
        spec = environment.describe(variables) if environment.present(variables) else None
        if spec is not None:
            return Detected(environment=name, spec=_with_devices(spec, variables))
    msg = "the table of environments has no row that is always present"
    raise AssertionError(msg)


def _with_devices(spec: ClusterSpec, environ: Mapping[str, str]) -> ClusterSpec:
    """Returns the cluster with the devices of this process, where it does not say them itself."""
    devices = devices_in(environ)
    if spec.devices is not None or devices is None:
        return spec
    return replace(spec, devices=devices, sources={**spec.sources, "devices": DEVICES_VARIABLE})
