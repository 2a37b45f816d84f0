"""What may be changed about a group before it is assigned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Joiner(NamedTuple):
    """A member that joins.

    Attributes:
        client_id: its `client.id`.
        instance_id: its `group.instance.id`.
        topics: what it subscribes to; None for every topic that the group reads.
        rack: its `client.rack`; None where it has none, or nobody knows.
    """

    client_id: str
    instance_id: str | None = None
    topics: tuple[str, ...] | None = None
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A change to the group before it is assigned.

    Attributes:
        add_members: how many members join; they subscribe to every topic that the group reads.
        joining: members that join under names of their own.
        remove_members: who leaves, by instance id, client id or member id.
        partitions: new partition counts of topics; also of one that somebody newly subscribes to.
        subscribe: what members subscribe to, by instance id, client id or member id, or "*" for all others,
            where no source tells or to try another subscription.
        deploy: how every member is replaced, one after the other; None for no deploy. "rolling": each leaves
            before it joins again, a static one is back before its session ends. "surge": each joins before
            the one that it replaces leaves, as Kubernetes rolls a Deployment; a static one is replaced as
            under "rolling", since no two members share an instance id.
    """

    add_members: int = 0
    joining: tuple[Joiner, ...] = ()
    remove_members: tuple[str, ...] = ()
    partitions: Mapping[str, int] = field(default_factory=dict)
    subscribe: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    deploy: Literal["rolling", "surge"] | None = None

    def __bool__(self) -> bool:
        return self != WhatIf()
