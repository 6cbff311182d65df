"""The frozen description of a cluster: members, the own task, and where each fact came from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, get_args

from paceline.errors import ClusterError

Role = Literal["chief", "worker", "ps", "evaluator"]

ROLES: tuple[Role, ...] = get_args(Role)
"""All roles, in the order in which members are listed."""

TRAINING_ROLES: tuple[Role, ...] = ("chief", "worker")
"""The roles that have a rank, in the order of ranks: the chief is rank 0, if there is one."""


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Task:
    """One place in the cluster: a role and an index in it."""

    role: Role
    index: int

    def __str__(self) -> str:
        return f"{self.role}:{self.index}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """One process of the cluster.

    Attributes:
        task: Its role and index.
        address: ``host:port``, or an empty string where none is needed (one local process).
    """

    task: Task
    address: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterSpec:
    """Who takes part.

    Attributes:
        members: Every process, in the order of ``ROLES`` and then of their index.
            Indices may have gaps (a sparse cluster).
        task: The own place, or None where nobody said (``cluster check`` of a template).
        devices: Ids of the devices of the own process, or None where nobody said.
        sources: Where each fact (``cluster``, ``task``, ``devices``) came from, in a person's words.
    """

    members: tuple[Member, ...]
    task: Task | None = None
    devices: tuple[str, ...] | None = None
    sources: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        ordered = sorted(self.members, key=lambda member: (ROLES.index(member.task.role), member.task.index))
        object.__setattr__(self, "members", tuple(ordered))
        object.__setattr__(self, "sources", MappingProxyType(dict(self.sources)))
        tasks = [member.task for member in ordered]
        if len(set(tasks)) != len(tasks):
            msg = "two members of the cluster have the same role and index"
            raise ClusterError(msg, got=", ".join(str(task) for task in tasks))
        if not any(task.role in TRAINING_ROLES for task in tasks):
            msg = "nobody in the cluster trains"
            raise ClusterError(msg, got=f"roles {sorted({t.role for t in tasks})}", expected="a chief or a worker")
        if self.task is not None and self.task.role != "evaluator" and self.task not in tasks:
            msg = "the own task is not in the cluster"
            raise ClusterError(msg, got=str(self.task), expected="one of " + ", ".join(str(t) for t in tasks))

    @classmethod
    def of_workers(cls, addresses: Sequence[str], *, index: int | None = None, source: str = "argument") -> ClusterSpec:
        """Returns a cluster of equal workers; worker 0 is the chief.

        Args:
            addresses: One ``host:port`` for each worker, in the order of ranks.
            index: The own rank, or None for nobody's.
            source: Where this came from, in a person's words.
        """
        members = tuple(
            Member(task=Task(role="worker", index=i), address=address) for i, address in enumerate(addresses)
        )
        task = None if index is None else Task(role="worker", index=index)
        return cls(members=members, task=task, sources={"cluster": source, "task": source})

    @property
    def ranked(self) -> tuple[Member, ...]:
        """The members that train, in the order of their ranks: chief first, then workers."""
        return tuple(member for member in self.members if member.task.role in TRAINING_ROLES)

    @property
    def num_workers(self) -> int:
        """How many processes train (a chief is one of them; parameter servers and evaluators are not)."""
        return len(self.ranked)

    @property
    def chief(self) -> Member:
        """The member of rank 0."""
        return self.ranked[0]

    @property
    def rank(self) -> int | None:
        """The own rank, or None for a parameter server, an evaluator, or where the task is not known."""
        return None if self.task is None else self.rank_of(self.task)

    @property
    def is_sparse(self) -> bool:
        """Whether some index of a role is not described."""
        return any([m.task.index for m in self.of_role(role)] != list(range(len(self.of_role(role)))) for role in ROLES)

    def rank_of(self, task: Task) -> int | None:
        """Returns the rank of a task, or None if it does not train."""
        return next((rank for rank, member in enumerate(self.ranked) if member.task == task), None)

    def of_role(self, role: Role) -> tuple[Member, ...]:
        """Returns the members of one role, by index."""
        return tuple(member for member in self.members if member.task.role == role)

    def as_dict(self) -> dict[str, Any]:
        """Returns a value that json can write: what ``cluster show --json`` prints."""
        return {
            "members": [
                {
                    "rank": self.rank_of(member.task),
                    "role": member.task.role,
                    "index": member.task.index,
                    "address": member.address,
                }
                for member in self.members
            ],
            "task": None if self.task is None else {"type": self.task.role, "index": self.task.index},
            "rank": self.rank,
            "num_workers": self.num_workers,
            "devices": None if self.devices is None else list(self.devices),
            "sources": dict(self.sources),
        }


def members_of(role: Role, addresses: Iterable[tuple[int, str]]) -> tuple[Member, ...]:
    """Returns one member for each (index, address) of a role."""
    return tuple(Member(task=Task(role=role, index=index), address=address) for index, address in addresses)
