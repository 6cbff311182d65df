import json

import pytest

from paceline.cluster.spec import ClusterSpec, Task
from paceline.cluster.tf_config import check, examine, parse, write
from paceline.errors import ClusterError

TWO = {"worker": ["a:2222", "b:2222"]}
FIRST = {"type": "worker", "index": 0}


def text(cluster=TWO, task=FIRST, **others):
    return json.dumps({"cluster": cluster, "task": task, **others})


def found(content, **options):
    return {(finding.severity, finding.code): finding for finding in check(content, **options)}


ERRORS = [
    ("", "empty", ""),
    ("{", "broken-json", "line 1, column 2"),
    ('{\n "cluster": {,}}', "broken-json", "line 2, column 14"),
    ('\ufeff{"cluster": {}}', "broken-json", "line 1, column 1"),
    ("[" * 100_000, "unreadable", ""),
    ("9" * 10_000, "unreadable", ""),
    ("[1]", "not-an-object", "line 1, column 1"),
    ("null", "not-an-object", "line 1, column 1"),
    (json.dumps(text()), "json-in-text", ""),
    (f"'{text()}'", "shell-quotes", ""),
    ("{'cluster': {'worker': ['a:2222']}}", "python", ""),
    ('{"task": {"type": "worker", "index": 0}}', "cluster-missing", "cluster"),
    (text(["a:2222"]), "cluster-not-an-object", "cluster"),
    (text(task=None), "task-not-an-object", "task"),
    (json.dumps({"cluster": TWO}), "task-missing", "task"),
    (text({"workr": ["a:2222"]}), "role-unknown", "cluster.workr"),
    (text({"worker": ["a:2222"], "ps_hosts": ["b:2222"]}), "role-unknown", "cluster.ps_hosts"),
    (text({"worker": "a:2222"}), "role-not-a-list", "cluster.worker"),
    (text({"ps": ["a:2222"]}, {"type": "ps", "index": 0}), "nobody-trains", "cluster"),
    (text({"chief": ["a:2222", "b:2222"]}, {"type": "chief", "index": 0}), "several-chiefs", "cluster.chief"),
    (text({**TWO, "evaluator": ["c:2222", "d:2222"]}), "several-evaluators", "cluster.evaluator"),
    (text({"master": ["a:2222"], "chief": ["b:2222"]}, {"type": "chief", "index": 0}), "role-twice", "cluster.chief"),
    (text({"worker": ["a:2222", "a:2222"]}), "duplicate-address", "cluster.worker[1]"),
    (text({"worker": ["a:2222"], "ps": ["A:2222"]}), "duplicate-address", "cluster.ps[0]"),
    (text({"worker": ["localhost:2222", "127.0.0.1:2222"]}), "duplicate-address", "cluster.worker[1]"),
    (text({"worker": ["127.0.0.1:2222", "[::1]:2222"]}), "duplicate-address", "cluster.worker[1]"),
    (text({"worker": {"\u00b2": "a:2222"}}), "sparse-key", "cluster.worker"),
    (text({"worker": ["localhost:2222", "b:2222"]}), "loopback-among-hosts", "cluster.worker[0]"),
    (text({"worker": ["a", "b:2222"]}), "no-port", "cluster.worker[0]"),
    (text({"worker": {"x": "a:2222"}}), "sparse-key", "cluster.worker.x"),
    (text({"worker": {"01": "a:2222"}}), "sparse-key", 'cluster.worker["01"]'),
    (text(task={"index": 0}), "task-type-missing", "task.type"),
    (text(task={"type": "worker"}), "task-index-missing", "task.index"),
    (text(task={"type": "wroker", "index": 0}), "task-type-unknown", "task.type"),
    (text(task={"type": 3, "index": 0}), "task-type-unknown", "task.type"),
    (text(task={"type": "worker", "index": 2}), "task-index-range", "task.index"),
    (text(task={"type": "worker", "index": -1}), "task-index-range", "task.index"),
    (text(task={"type": "worker", "index": 0.0}), "task-index-not-int", "task.index"),
    (text(task={"type": "worker", "index": True}), "task-index-not-int", "task.index"),
    (text(task={"type": "worker", "index": "one"}), "task-index-not-int", "task.index"),
    (text(task={"type": "worker", "id": 0}), "task-key-unknown", "task.id"),
    (text(task={"type": "chief", "index": 0}), "task-not-in-cluster", "task.type"),
    (text(task={"type": "ps", "index": 0}), "task-not-in-cluster", "task.type"),
    (text(task={"type": "evaluator", "index": 1}), "task-index-range", "task.index"),
    (json.dumps({"clusters": TWO, "task": FIRST}), "key-unknown", "clusters"),
    (json.dumps({"sparseCluster": TWO, "task": FIRST}), "key-unknown", "sparseCluster"),
    (json.dumps({"worker_hosts": ["a:2222"], "task": FIRST}), "role-outside", "worker_hosts"),
    (json.dumps({"worker": ["a:2222"], "task": FIRST}), "role-outside", "worker"),
    ('{"cluster": {"worker": ["a:2222"], "worker": ["b:2222"]}, "task": {}}', "key-twice", "cluster.worker"),
]


@pytest.mark.parametrize(
    ("content", "code", "where"), ERRORS, ids=[f"{code}-{i}" for i, (_, code, _) in enumerate(ERRORS)]
)
def test_errors_are_found_at_their_place(content, code, where):
    findings = found(content)
    assert ("error", code) in findings
    assert findings["error", code].where.startswith(where)
    with pytest.raises(ClusterError):
        parse(content)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("{}", "cluster-missing"),
        (text({"worker": ["a:80"]}), "port-privileged"),
        (text({**TWO, "ps": []}), "role-empty"),
        (text({"master": ["a:2222"]}, {"type": "master", "index": 0}), "role-master"),
        (text({"worker": {"1": "a:2222"}}, {"type": "worker", "index": 1}), "sparse-cluster"),
        (text(task={"type": "worker", "index": "0"}), "task-index-text"),
        (text(task={**FIRST, "colour": "red"}), "task-key-unknown"),
        (text(banana=1), "key-unknown"),
    ],
)
def test_warnings_do_not_forbid_a_start(content, code):
    findings = found(content)
    assert ("warning", code) in findings
    assert all(severity != "error" for severity, _ in findings)


FIXES = [
    (text({"workr": ["a:2222"]}), "role-unknown", '"worker"'),
    (text({"worker_hosts": ["a:2222"]}), "role-unknown", '"worker"'),
    (text({"parameter_server": ["a:2222"], **TWO}), "role-unknown", '"ps"'),
    (text(task={"type": "wroker", "index": 0}), "task-type-unknown", '"worker"'),
    (text(task={"type": "worker", "idx": 0}), "task-key-unknown", '"index"'),
    (text(task={"type": "worker", "index": 2}), "task-index-range", "the last worker is 1"),
    (
        text({"chief": ["c:2222"], **TWO}, {"type": "worker", "index": 2}),
        "task-index-range",
        "workers are counted without the chief",
    ),
    (text(task={"type": "chief", "index": 0}), "task-not-in-cluster", "worker 0 is the chief"),
    (json.dumps({"cluster": TWO, "tusk": FIRST}), "key-unknown", '"task"'),
    ("{cluster: {worker: [a:2222]}}", "broken-json", "the shell took the quotes away"),
    ('{"cluster": {"worker": ["a:2222",]}}', "broken-json", "comma"),
    ('{"cluster": {"worker": ["a:2222"', "broken-json", "too early"),
    ("{'cluster': {'worker': ['a:2222'", "broken-json", "double quotes"),
]


@pytest.mark.parametrize(("content", "code", "words"), FIXES, ids=[str(i) for i in range(len(FIXES))])
def test_the_fix_says_what_was_probably_meant(content, code, words):
    assert words in found(content)["error", code].fix


def test_a_misspelt_task_is_not_missing_as_well():
    assert ("error", "task-missing") not in found(json.dumps({"cluster": TWO, "tusk": FIRST}))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (text(), "worker 0 (a:2222) is the chief, rank 0; 2 processes train; this process is worker:0, rank 0"),
        (
            text({"chief": ["c:2222"], **TWO}, {"type": "worker", "index": 1}),
            "rank 0 is the chief (c:2222), worker i has rank i + 1; 3 processes train; this process is worker:1, rank",
        ),
        (text(task={"type": "evaluator", "index": 0}), "this process is evaluator:0, without a rank"),
    ],
)
def test_a_right_one_says_which_rank_is_the_chief(content, words):
    findings = found(content)
    assert words in findings["info", "ranks"].text
    assert {severity for severity, _ in findings} == {"info"}


def test_the_evaluator_may_be_in_the_cluster_or_not():
    task = {"type": "evaluator", "index": 0}
    assert ("info", "evaluator-outside") in found(text(task=task))
    inside = parse(text({**TWO, "evaluator": ["c:2222"]}, task))
    assert (inside.num_workers, inside.rank) == (2, None)


def test_several_loopback_addresses_are_one_machine():
    assert parse(text({"worker": ["localhost:2222", "localhost:2223"]})).num_workers == 2


def test_what_operators_write_is_read():
    kubeflow = text({"ps": ["j-ps-0.ns.svc:2222"], "worker": ["j-worker-0.ns.svc:2222"]}, FIRST, environment="cloud")
    dynamic = text({"worker": {"1": "j-worker-1.ns.svc:2222"}}, {"type": "worker", "index": 1}, environment="cloud")
    vertex = text({"chief": ["c:2222"]}, {"type": "chief", "index": 0, "trial": ""}, job="{}")
    assert parse(kubeflow).num_workers == 1
    assert parse(dynamic).is_sparse
    assert parse(vertex).rank == 0
    assert {severity for severity, _ in found(kubeflow)} == {"info"}


def test_a_master_is_read_as_the_chief():
    spec = parse(text({"master": ["m:2222"], **TWO}, {"type": "master", "index": 0}))
    assert spec.task == Task(role="chief", index=0)
    assert spec.num_workers == 3


PROGRAM = """\
# a TF_CONFIG in a program
import json, os
n = 2
TF_CONFIG = {
    "cluster": {"worker": ["192.168.1.10:2222", "192.168.1.11:2222"]},
    "task": {"type": "worker", "index": 0},  # differs
}
os.environ["TF_CONFIG"] = json.dumps(TF_CONFIG)
"""


def test_python_is_understood_and_said_to_be_no_json():
    assert ("error", "python") in found(PROGRAM)
    examination = examine(PROGRAM, python_is_error=False)
    assert examination.findings[0].where == "line 4"
    assert json.loads(examination.findings[0].fix)["task"] == FIRST
    assert examination.spec.num_workers == 2


def test_the_dict_of_a_python_literal_is_checked_too():
    findings = found("os.environ['TF_CONFIG'] = json.dumps({'cluster': {'worker': ['a:2222', 'a:2222']}})")
    assert ("error", "duplicate-address") in findings


def test_bytes_that_are_no_text():
    assert found(b'{"a": "\xff"}')["error", "not-utf8"].where == "byte 7"


@pytest.mark.parametrize(
    "spec",
    [
        ClusterSpec.of_workers(["a:2222", "[fd00::1]:2222"], index=1, source="TF_CONFIG"),
        parse(text({"chief": ["c:2222"], "ps": ["p:2222"], "evaluator": ["e:2222"], **TWO})),
        parse(text({"worker": {"3": "a:2222"}}, {"type": "worker", "index": 3})),
    ],
)
def test_what_is_written_is_read_again(spec):
    assert parse(write(spec)) == spec


def test_one_spec_writes_the_tf_config_of_each_member():
    spec = parse(text())
    assert json.loads(write(spec, task=Task(role="worker", index=1)))["task"] == {"type": "worker", "index": 1}


def test_the_error_of_parse_holds_every_finding():
    with pytest.raises(ClusterError) as caught:
        parse(text({"worker": ["a", "b:0"]}))
    assert "cluster.worker[0]" in str(caught.value)
    assert "cluster.worker[1]" in str(caught.value)
