"""The rules for roles, for their members, and for addresses taken together."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from paceline.cluster.address import Address, Fault, parse_address
from paceline.cluster.findings import Finding, Severity, did_you_mean, shown
from paceline.cluster.positions import Document, Path
from paceline.cluster.spec import ROLES, Member, Role, Task

ALIASES: dict[str, Role] = {
    "master": "chief",
    "workers": "worker",
    "worker_hosts": "worker",
    "chief_hosts": "chief",
    "ps_hosts": "ps",
    "parameter_server": "ps",
    "parameter_servers": "ps",
    "server": "ps",
    "eval": "evaluator",
    "coordinator": "chief",
}
"""Names that people use, and what they mean; only ``master`` is a name that TensorFlow once knew."""

_AT_MOST_ONE: tuple[Role, ...] = ("chief", "evaluator")  # Source: TensorFlow 2.21, multi_worker_util.py


def meant_role(name: str) -> Role | None:
    """Returns the role that a name means, if it is not one itself.

    >>> meant_role("worker_hosts"), meant_role("Wroker"), meant_role("banana")
    ('worker', 'worker', None)
    """
    lowered = name.strip().lower()
    if lowered in ALIASES:
        return ALIASES[lowered]
    near = did_you_mean(lowered, ROLES)
    return next((role for role in ROLES if role == near), None)


@dataclass(slots=True)
class Reading:
    """What has been read of a document so far: findings and members. One reading belongs to one check.

    Attributes:
        document: The text that is read, which knows positions.
        findings: In the order in which they were found.
        members: Members whose addresses can be used.
        addresses: The parsed address of each of those members.
        counts: How many members each role has, usable or not.
    """

    document: Document
    findings: list[Finding] = field(default_factory=list)
    members: list[Member] = field(default_factory=list)
    addresses: list[Address] = field(default_factory=list)
    counts: dict[Role, int] = field(default_factory=dict)

    def find(self, severity: Severity, code: str, path: Path, text: str, **parts: str) -> None:
        """Adds a finding at a path."""
        finding = Finding(severity=severity, code=code, where=self.document.where(path), text=text, **parts)
        self.findings.append(finding)


def read_cluster(reading: Reading, cluster: dict[str, Any]) -> None:
    """Reads the value of ``cluster``: finds members, and what is wrong with their roles and addresses."""
    seen: dict[Role, str] = {}
    for name, value in cluster.items():
        role = _role_of(reading, name)
        if role is None:
            continue
        if role in seen:
            text = f"{name!r} means {role}, which is there already"
            reading.find("error", "role-twice", ("cluster", name), text, fix=f"join it with {seen[role]!r}")
            continue
        seen[role] = name
        for index, address, path in list(_entries(reading, role, name, value)):
            _read_address(reading, Task(role=role, index=index), address, path)
        if reading.counts.get(role, 0) > 1 and role in _AT_MOST_ONE:
            text = f"there is more than one {role}"
            expected = f"at most one {role}"
            reading.find("error", f"several-{role}s", ("cluster", name), text, got=shown(value), expected=expected)
    trains = reading.counts.get("chief", 0) + reading.counts.get("worker", 0)
    misread = any(finding.code == "role-unknown" for finding in reading.findings)
    if seen and not trains and not misread:
        expected = '"worker": ["HOST:PORT", ...]'
        reading.find(
            "error", "nobody-trains", ("cluster",), "the cluster has neither chief nor workers", expected=expected
        )


def _role_of(reading: Reading, name: str) -> Role | None:
    """Returns the role that a key of the cluster means; finds what is wrong with the key."""
    if name in ROLES:
        return next(role for role in ROLES if role == name)
    meant = meant_role(name)
    path: Path = ("cluster", name)
    expected = "one of " + ", ".join(ROLES)
    if name == "master":
        text = "'master' is the old name of the chief; TensorFlow 2 refuses it. It is read as 'chief'"
        reading.find("warning", "role-master", path, text, got=shown(name), expected=expected, fix='"chief"')
        return "chief"
    fix = f'did you mean "{meant}"?' if meant else ""
    reading.find("error", "role-unknown", path, "a role is not known", got=shown(name), expected=expected, fix=fix)
    return None


def _entries(reading: Reading, role: Role, name: str, value: Any) -> Iterator[tuple[int, Any, Path]]:
    """Yields (index, address, path) of each member of a role; sets the count of the role."""
    path: Path = ("cluster", name)
    if isinstance(value, list):
        reading.counts[role] = len(value)
        if not value:
            reading.find("warning", "role-empty", path, f"the role {role!r} has no members", fix="leave it out")
        yield from ((i, address, (*path, i)) for i, address in enumerate(value))
    elif isinstance(value, dict):
        yield from _sparse(reading, role, path, value)
    else:
        fix = json.dumps([value]) if isinstance(value, str) else '["HOST:PORT"]'
        text = f"the members of {role!r} are not a list"
        reading.find("error", "role-not-a-list", path, text, got=shown(value), expected="a list of addresses", fix=fix)


def _sparse(reading: Reading, role: Role, path: Path, value: dict[str, Any]) -> Iterator[tuple[int, Any, Path]]:
    reading.counts[role] = len(value)
    indices: list[int] = []
    for key, address in value.items():
        if not (key.isascii() and key.isdigit() and len(key) < 7) or str(int(key)) != key:
            expected = 'the index of a task, as in {"1": "HOST:PORT"}'
            reading.find(
                "error", "sparse-key", (*path, key), "a key is not an index", got=shown(key), expected=expected
            )
            continue
        indices.append(int(key))
        yield int(key), address, (*path, key)
    text = f"a sparse cluster: it tells only some tasks of {role!r} ({shown(sorted(indices))})"
    hint = "training by all-reduce needs every worker in every TF_CONFIG; only ParameterServerStrategy works with this"
    if sorted(indices) == list(range(len(value))):
        reading.find("info", "sparse-cluster", path, f"the members of {role!r} are given by index, and all are there")
    else:
        severity: Severity = "error" if role == "chief" else "warning"
        reading.find(severity, "sparse-cluster", path, text, expected=hint)


def _read_address(reading: Reading, task: Task, value: Any, path: Path) -> None:
    address, faults = parse_address(value)
    for fault in faults:
        _find_fault(reading, fault, value, path)
    if address is not None:
        reading.members.append(Member(task=task, address=str(address)))
        reading.addresses.append(address)


def _find_fault(reading: Reading, fault: Fault, value: Any, path: Path) -> None:
    fix = fault.fix if fault.fix.startswith('"') or not fault.fix else shown(fault.fix)
    reading.find(fault.severity, fault.code, path, fault.text, got=shown(value), expected=fault.expected, fix=fix)


def compare_addresses(reading: Reading) -> None:
    """Finds what is wrong with addresses taken together: duplicates, and localhost among several hosts."""
    first: dict[tuple[str, int], Task] = {}
    for member, address in zip(reading.members, reading.addresses, strict=True):
        other = first.setdefault(address.identity, member.task)
        if other != member.task:
            path = _path_of(reading.document, member.task)
            text = f"two tasks have the same address: {other} and {member.task}"
            fix = "give each its own port" if address.is_loopback else "give each its own host, or its own port on it"
            reading.find("error", "duplicate-address", path, text, got=shown(str(address)), fix=fix)
    remote = [address for address in reading.addresses if not address.is_loopback]
    if not remote:
        return
    for member, address in zip(reading.members, reading.addresses, strict=True):
        if address.is_loopback:
            path = _path_of(reading.document, member.task)
            text = "a loopback address among several hosts: on each host it means that host itself"
            expected = f"a name or address that the others can reach, as {shown(str(remote[0]))} is"
            reading.find("error", "loopback-among-hosts", path, text, got=shown(str(address)), expected=expected)


def _path_of(document: Document, task: Task) -> Path:
    """Returns the path of a member; a role may be written as an alias, and its members by index."""
    cluster = document.value["cluster"]
    name = task.role if task.role in cluster else next((n for n in cluster if ALIASES.get(n) == task.role), task.role)
    return ("cluster", name, task.index if isinstance(cluster.get(name), list) else str(task.index))
