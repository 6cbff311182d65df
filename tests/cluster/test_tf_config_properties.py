"""No input of any kind gives a traceback, and what is found can be written as JSON."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from paceline.cluster.spec import ClusterSpec, Task
from paceline.cluster.tf_config import examine, parse, write

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
ANY_JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=16
)
ADDRESSES = st.sampled_from(["a:2222", "b:2222", "A:2222", "localhost:1", "[::1]:2222", "x", "u@h", "http://x", ""])
ROLES = st.sampled_from(["chief", "worker", "ps", "evaluator", "master", "workers", "wroker", "ps_hosts", ""])
INDICES = st.integers(-2, 4) | st.sampled_from(["0", "1", "x", "²", "01"]) | SCALARS
CLUSTERS = st.dictionaries(
    ROLES,
    st.lists(ADDRESSES | SCALARS, max_size=4)
    | st.dictionaries(INDICES.map(str), ADDRESSES | SCALARS, max_size=3)
    | SCALARS,
    max_size=4,
)
TASKS = st.fixed_dictionaries(
    {}, optional={"type": ROLES | SCALARS, "index": INDICES, "idx": SCALARS, "trial": SCALARS}
)
NEARLY_RIGHT = st.fixed_dictionaries(
    {}, optional={"cluster": CLUSTERS | ANY_JSON, "task": TASKS | ANY_JSON, "tsk": ANY_JSON, "worker_hosts": ANY_JSON}
)


def survives(text):
    for python_is_error in (True, False):
        examination = examine(text, python_is_error=python_is_error)
        json.dumps([finding.as_dict() for finding in examination.findings])
        assert all(finding.text and finding.code for finding in examination.findings)
        assert "\n".join(finding.render() for finding in examination.findings).isascii()
        assert (examination.spec is None) or not examination.errors
        assert examination.findings


@given(st.text() | st.text(alphabet="{}[]\":,'\\ \n0aeE.-=\ufeff\x00"))
@example("\x00")
@example("TF_CONFIG = {**a}")
@example("{'a': {1, 2}, (1, 2): b'x', 'cluster': ...}")
@example("{'cluster': {1: ['a']}, 'task': {'index': 1j}}")
@example("{'a': [], 'cluster': {[]: 1}}")
@example('"' * 3)
@example("(" * 500)
@example("{'a':" * 500)
@example('{"a":' * 5_000)
@example('"\\ud800"')
@example("-" * 3_000 + "1")
def test_any_text(text):
    survives(text)


@given(st.binary())
def test_any_bytes(text):
    survives(text)


@given(ANY_JSON)
def test_any_json(value):
    survives(json.dumps(value))


@given(ANY_JSON)
def test_any_python_literal(value):
    survives(repr(value))


@given(NEARLY_RIGHT, st.booleans())
def test_what_is_nearly_right(value, ascii_only):
    survives(json.dumps(value, ensure_ascii=ascii_only))
    survives("TF_CONFIG = " + repr(value))


@given(st.integers(1, 5), st.booleans(), st.integers(0, 2), st.data())
def test_what_is_written_is_read_again(num_workers, has_chief, num_ps, data):
    hosts = iter(range(100))
    roles = {"chief": int(has_chief), "worker": num_workers, "ps": num_ps}
    cluster = {role: [f"h{next(hosts)}:2222" for _ in range(n)] for role, n in roles.items() if n}
    role = data.draw(st.sampled_from(sorted(cluster)))
    index = data.draw(st.integers(0, len(cluster[role]) - 1))
    spec = parse(json.dumps({"cluster": cluster, "task": {"type": role, "index": index}}))
    assert parse(write(spec)) == spec
    assert spec.task == Task(role=role, index=index)
    assert isinstance(spec, ClusterSpec)
    assert sorted(rank for member in spec.members if (rank := spec.rank_of(member.task)) is not None) == list(
        range(spec.num_workers)
    )
