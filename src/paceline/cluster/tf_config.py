"""``TF_CONFIG``: parse it, check it, write it.

TensorFlow reads ``TF_CONFIG`` once, believes it, and waits in silence for addresses that nobody
listens on. So everything that can be seen in the text alone is found here, before anything starts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paceline.cluster.findings import Finding, did_you_mean, errors_in, shown
from paceline.cluster.own_task import read_task
from paceline.cluster.roles import ALIASES, Reading, compare_addresses, read_cluster
from paceline.cluster.spec import ROLES, ClusterSpec, Task
from paceline.cluster.text import EXAMPLE, alone, document_of
from paceline.errors import ClusterError

VARIABLE = "TF_CONFIG"

_ROOT_KEYS = ("cluster", "task")
# Read by TensorFlow's resolver, or written by Kubeflow and Vertex AI beside what it reads.
_OTHER_ROOT_KEYS = ("environment", "rpc_layer", "session_master", "eval_session_master", "job", "trial", "open_ports")


@dataclass(frozen=True, kw_only=True, slots=True)
class Examination:
    """What was found in one TF_CONFIG.

    Attributes:
        findings: Everything that was found, in the order of the text.
        spec: The cluster, or None where an error was found or no cluster is described.
    """

    findings: tuple[Finding, ...]
    spec: ClusterSpec | None

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that forbid a start."""
        return errors_in(self.findings)


def check(text: str | bytes, *, python_is_error: bool = True) -> tuple[Finding, ...]:
    """Returns everything that is wrong or worth knowing about a TF_CONFIG; never raises.

    Args:
        text: The value of the variable, or the content of a file.
        python_is_error: Whether Python instead of JSON is an error (it is, in the variable)
            or a warning (in a ``.py`` file).
    """
    return examine(text, python_is_error=python_is_error).findings


def parse(text: str | bytes, *, source: str = VARIABLE) -> ClusterSpec:
    """Returns the cluster that a TF_CONFIG describes.

    Args:
        text: The value of the variable.
        source: Where it came from, in a person's words.

    Raises:
        ClusterError: It cannot work; the text of the error holds every error that was found.
    """
    examination = examine(text, source=source)
    if examination.spec is not None:
        return examination.spec
    findings = examination.errors or examination.findings
    what = f"{source} describes no cluster that can work\n" + "\n".join(finding.render() for finding in findings)
    raise ClusterError(what, fix="paceline cluster check")


def write(spec: ClusterSpec, *, task: Task | None = None) -> str:
    """Returns the TF_CONFIG of one member of a cluster.

    >>> write(ClusterSpec.of_workers(["a:2222", "b:2222"], index=1))
    '{"cluster": {"worker": ["a:2222", "b:2222"]}, "task": {"type": "worker", "index": 1}}'

    Args:
        spec: The cluster.
        task: Whose TF_CONFIG; by default the spec's own task.
    """
    cluster: dict[str, Any] = {}
    for role in ROLES:
        members = spec.of_role(role)
        if not members:
            continue
        indices = [member.task.index for member in members]
        if indices == list(range(len(members))):
            cluster[role] = [member.address for member in members]
        else:
            cluster[role] = {str(member.task.index): member.address for member in members}
    own = task or spec.task
    value: dict[str, Any] = {"cluster": cluster}
    if own is not None:
        value["task"] = {"type": own.role, "index": own.index}
    return json.dumps(value)


def present(environ: Mapping[str, str]) -> bool:
    """Returns whether this environment has a TF_CONFIG (an empty one counts: TensorFlow stumbles over it)."""
    return VARIABLE in environ


def describe(environ: Mapping[str, str]) -> ClusterSpec | None:
    """Returns the cluster of an environment that has a TF_CONFIG, or None where it describes no cluster.

    Raises:
        ClusterError: The TF_CONFIG cannot work.
    """
    examination = examine(environ[VARIABLE], source=VARIABLE)
    return None if examination.spec is None and not examination.errors else parse(environ[VARIABLE])


def examine(text: str | bytes, *, source: str = VARIABLE, python_is_error: bool = True) -> Examination:
    """Returns the findings and, where nothing forbids it, the cluster; never raises.

    Args:
        text: The value of the variable, or the content of a file.
        source: Where it came from, in a person's words.
        python_is_error: As for ``check``.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            finding = alone("not-utf8", f"the text is not UTF-8: {error.reason}", where=f"byte {error.start}")
            return Examination(findings=(finding,), spec=None)
    document, before = document_of(text, python_is_error=python_is_error)
    if document is None:
        return Examination(findings=tuple(before), spec=None)
    reading = Reading(document=document, findings=before)
    spec = _examine_root(reading, source)
    findings = tuple(reading.findings)
    return Examination(findings=findings, spec=None if errors_in(findings) else spec)


def _examine_root(reading: Reading, source: str) -> ClusterSpec | None:
    root = reading.document.value
    if not isinstance(root, dict):
        text = "TF_CONFIG is not an object"
        reading.find("error", "not-an-object", (), text, got=shown(root), expected=EXAMPLE)
        return None
    for path in reading.document.repeated:
        reading.find("error", "key-twice", path, "a key is given twice; only the last one counts", fix="join the two")
    _check_root_keys(reading, root)
    if not _has_cluster(reading, root):
        return None
    read_cluster(reading, root["cluster"])
    compare_addresses(reading)
    task = read_task(reading, root)
    if errors_in(reading.findings):
        return None
    spec = ClusterSpec(members=tuple(reading.members), task=task, sources={"cluster": source, "task": source})
    _tell_ranks(reading, spec)
    return spec


def _check_root_keys(reading: Reading, root: dict[str, Any]) -> None:
    for key, value in root.items():
        if key in _ROOT_KEYS or key in _OTHER_ROOT_KEYS:
            continue
        if key in ROLES or key in ALIASES:
            role = ALIASES.get(key, key)
            fix = f'"cluster": {{"{role}": {shown(value, 60)}}}'
            text = "a role stands outside of 'cluster'"
            reading.find("error", "role-outside", (key,), text, got=shown(key), fix=fix)
            continue
        meant = "cluster" if key in {"sparseCluster", "cluster_spec"} else did_you_mean(key, _ROOT_KEYS)
        if meant is not None and meant not in root:
            text, fix = "a key is not known", f'did you mean "{meant}"?'
            reading.find("error", "key-unknown", (key,), text, got=shown(key), fix=fix)
        else:
            reading.find(
                "warning", "key-unknown", (key,), "a key is not known; TensorFlow does not read it", got=shown(key)
            )


def _has_cluster(reading: Reading, root: dict[str, Any]) -> bool:
    """Returns whether ``cluster`` is an object with something in it; finds why it is not."""
    cluster = root.get("cluster", {})
    if not isinstance(cluster, dict):
        fix = f'"cluster": {{"worker": {shown(cluster, 60)}}}' if isinstance(cluster, list) else ""
        text = "'cluster' is not an object"
        reading.find(
            "error", "cluster-not-an-object", ("cluster",), text, got=shown(cluster), expected=EXAMPLE, fix=fix
        )
        return False
    if cluster:
        return True
    asked = bool(root.get("task")) or bool(errors_in(reading.findings))
    text = "'cluster' is missing or empty: each process would train alone"
    reading.find("error" if asked else "warning", "cluster-missing", ("cluster",), text, expected=EXAMPLE)
    return False


def _tell_ranks(reading: Reading, spec: ClusterSpec) -> None:
    chief = spec.chief
    own = ""
    if spec.task is not None:
        own = f"; this process is {spec.task}, " + ("without a rank" if spec.rank is None else f"rank {spec.rank}")
    trains = "1 process trains" if spec.num_workers == 1 else f"{spec.num_workers} processes train"
    if chief.task.role == "chief":
        text = f"rank 0 is the chief ({chief.address}), worker i has rank i + 1; {trains}{own}"
    else:
        text = f"no 'chief' role: worker {chief.task.index} ({chief.address}) is the chief, rank 0; {trains}{own}"
    reading.find("info", "ranks", ("cluster",), text)
