import dataclasses
import json

import pytest

from paceline.cluster.spec import ClusterSpec, Member, Task, members_of
from paceline.errors import ClusterError


def test_ranks_are_chief_first_then_workers():
    spec = ClusterSpec(
        members=(
            *members_of("ps", [(0, "p:2222")]),
            *members_of("worker", [(1, "b:2222"), (0, "a:2222")]),
            *members_of("chief", [(0, "c:2222")]),
            *members_of("evaluator", [(0, "e:2222")]),
        ),
        task=Task(role="worker", index=1),
    )
    assert [str(member.task) for member in spec.ranked] == ["chief:0", "worker:0", "worker:1"]
    assert (spec.num_workers, spec.rank, spec.chief.address) == (3, 2, "c:2222")
    assert spec.rank_of(Task(role="ps", index=0)) is None
    assert json.loads(json.dumps(spec.as_dict()))["rank"] == 2


def test_without_a_chief_worker_0_is_the_chief():
    spec = ClusterSpec.of_workers(["a:2222", "b:2222"], index=1, source="test")
    assert (spec.chief.task, spec.rank, spec.sources["cluster"]) == (Task(role="worker", index=0), 1, "test")
    assert not spec.is_sparse


def test_a_spec_is_frozen():
    spec = ClusterSpec.of_workers(["a:2222"])
    with pytest.raises(dataclasses.FrozenInstanceError):
        spec.task = None
    with pytest.raises(TypeError):
        spec.sources["cluster"] = "someone else"


def test_gaps_make_it_sparse():
    assert ClusterSpec(members=members_of("worker", [(1, "a:2222")])).is_sparse


@pytest.mark.parametrize(
    ("members", "task"),
    [
        ((), None),
        (members_of("ps", [(0, "a:2222")]), None),
        (members_of("worker", [(0, "a:2222"), (0, "b:2222")]), None),
        (members_of("worker", [(0, "a:2222")]), Task(role="worker", index=1)),
        (members_of("worker", [(0, "a:2222")]), Task(role="chief", index=0)),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_built(members, task):
    with pytest.raises(ClusterError):
        ClusterSpec(members=members, task=task)


def test_an_evaluator_may_stand_outside():
    spec = ClusterSpec(members=members_of("worker", [(0, "a:2222")]), task=Task(role="evaluator", index=0))
    assert spec.rank is None


def test_a_member_shows_its_task():
    assert str(Member(task=Task(role="ps", index=3), address="").task) == "ps:3"
