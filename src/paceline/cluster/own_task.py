"""The rules for ``task``: which place in the cluster is this process's own."""

from __future__ import annotations

import json
from typing import Any

from paceline.cluster.findings import did_you_mean, shown
from paceline.cluster.positions import Path
from paceline.cluster.roles import Reading, meant_role
from paceline.cluster.spec import ROLES, Role, Task

_KNOWN = ("type", "index", "trial", "cloud")  # the last two are written by Vertex AI and Kubeflow
_ALIASES = {
    "role": "type",
    "name": "type",
    "job": "type",
    "job_name": "type",
    "id": "index",
    "task_id": "index",
    "task_index": "index",
    "rank": "index",
}
_MAX_DIGITS = 9

MEANT_TASK = 'did you mean "task"?'
"""The fix of a misspelt ``task``: it is not missing as well."""


def read_task(reading: Reading, root: dict[str, Any]) -> Task | None:
    """Returns the own task, if it can be used; finds what is wrong with it.

    Args:
        reading: What has been read of the cluster.
        root: The whole TF_CONFIG.
    """
    example = {"type": "chief" if "chief" in reading.counts else "worker", "index": 0}
    if "task" not in root and any(finding.fix == MEANT_TASK for finding in reading.findings):
        return None
    if "task" not in root:
        text = "'task' is missing: this process does not know which member of the cluster it is"
        expected = "a task, whose index differs in every process"
        reading.find("error", "task-missing", ("task",), text, expected=expected, fix=f'"task": {json.dumps(example)}')
        return None
    value = root["task"]
    if not isinstance(value, dict):
        text = "'task' is not an object"
        fix = f'"task": {json.dumps(example)}'
        reading.find("error", "task-not-an-object", ("task",), text, got=shown(value), fix=fix)
        return None
    _check_keys(reading, value)
    role, index = _read_type(reading, value), _read_index(reading, value)
    if role is None or index is None or not _is_member(reading, role, index):
        return None
    return Task(role=role, index=index)


def _check_keys(reading: Reading, task: dict[str, Any]) -> None:
    for key in task:
        if key in _KNOWN:
            continue
        meant = _ALIASES.get(key.lower()) or did_you_mean(key, _KNOWN[:2])
        path: Path = ("task", key)
        if meant and meant not in task:
            text = "a key of 'task' is not known"
            expected = '"type" and "index"'
            fix = f'did you mean "{meant}"?'
            reading.find("error", "task-key-unknown", path, text, got=shown(key), expected=expected, fix=fix)
        else:
            text = "a key of 'task' is not known; TensorFlow does not read it"
            reading.find("warning", "task-key-unknown", path, text, got=shown(key))


def _read_type(reading: Reading, task: dict[str, Any]) -> Role | None:
    path: Path = ("task", "type")
    expected = "one of " + ", ".join(shown(role) for role in ROLES)
    if "type" not in task:
        reading.find("error", "task-type-missing", path, "'type' is missing in 'task'", expected=expected)
        return None
    name = task["type"]
    if not isinstance(name, str):
        reading.find("error", "task-type-unknown", path, "the type is not a text", got=shown(name), expected=expected)
        return None
    if name in ROLES:
        return next(role for role in ROLES if role == name)
    if name == "master":
        text = "'master' is the old name of the chief; TensorFlow 2 refuses it. It is read as 'chief'"
        reading.find("warning", "role-master", path, text, got=shown(name), expected=expected, fix='"chief"')
        return "chief"
    meant = meant_role(name)
    fix = f'did you mean "{meant}"?' if meant else ""
    reading.find("error", "task-type-unknown", path, "a role is not known", got=shown(name), expected=expected, fix=fix)
    return None


def _read_index(reading: Reading, task: dict[str, Any]) -> int | None:
    path: Path = ("task", "index")
    expected = "a whole number from 0"
    if "index" not in task:
        text = "'index' is missing in 'task'"
        reading.find("error", "task-index-missing", path, text, expected=expected, fix='"index": 0')
        return None
    value = task["index"]
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS:
        text = "the index is a text; TensorFlow takes it, other programs do not"
        reading.find("warning", "task-index-text", path, text, got=shown(value), fix=str(int(value)))
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        text = "the index is not a whole number"
        reading.find("error", "task-index-not-int", path, text, got=shown(value), expected=expected)
        return None
    return value


def _is_member(reading: Reading, role: Role, index: int) -> bool:
    """Returns whether the cluster has this task; finds why it has not."""
    if role == "evaluator" and role not in reading.counts:
        return _evaluator_outside(reading, index)
    if role not in reading.counts:
        _role_not_in_cluster(reading, role)
        return False
    if any(member.task == Task(role=role, index=index) for member in reading.members):
        return True
    indices = _indices(reading, role)
    if index in indices:
        return False  # its address is wrong, which has been found already
    count = len(indices)
    got = f"index {shown(index)}, with {count} {role}{'' if count == 1 else 's'} in the cluster"
    expected = "one of " + shown(sorted(indices)) if indices else f"a cluster with a {role}"
    fix = ""
    if role == "worker" and "chief" in reading.counts:
        fix = f"workers are counted without the chief: worker indices run from 0 to {count - 1}"
    elif role == "worker" and index == count:
        fix = f"indices begin with 0: the last worker is {count - 1}"
    reading.find(
        "error", "task-index-range", ("task", "index"), "the index is out of range", got=got, expected=expected, fix=fix
    )
    return False


def _evaluator_outside(reading: Reading, index: int) -> bool:
    if index != 0:
        text = "there is at most one evaluator, so its index is 0"
        reading.find(
            "error", "task-index-range", ("task", "index"), text, got=shown(index), expected="0", fix='"index": 0'
        )
        return False
    text = "the evaluator is not in the cluster, which is allowed: it takes no part in training"
    reading.find("info", "evaluator-outside", ("task", "type"), text)
    return True


def _role_not_in_cluster(reading: Reading, role: Role) -> None:
    got = f"{shown(role)}, with {', '.join(sorted(reading.counts)) or 'no role'} in the cluster"
    fix = ""
    if role == "chief" and "worker" in reading.counts:
        fix = 'without a chief, worker 0 is the chief: {"type": "worker", "index": 0}'
    elif role == "worker" and "chief" in reading.counts:
        fix = '{"type": "chief", "index": 0}, or add workers to the cluster'
    expected = "a role that the cluster has"
    text = "the own role is not in the cluster"
    reading.find("error", "task-not-in-cluster", ("task", "type"), text, got=got, expected=expected, fix=fix)


def _indices(reading: Reading, role: Role) -> set[int]:
    """Returns the indices that the cluster has for a role, also those whose address is wrong."""
    cluster = reading.document.value["cluster"]
    members = cluster.get(role, cluster.get("master") if role == "chief" else None)
    if isinstance(members, dict):
        return {int(key) for key in members if key.isascii() and key.isdigit() and len(key) <= _MAX_DIGITS}
    return set(range(reading.counts[role]))
