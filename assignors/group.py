"""A consumer group as its leader sees it: topics and members, before anything is assigned."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assignors.errors import InvalidGroupError
from assignors.partition_list import PartitionList

if TYPE_CHECKING:
    from assignors.assignment import Assignment
    from partitioning.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic in the cluster's metadata.

    Attributes:
        name: topic name.
        partitions: how many partitions it has; 0 stands for a topic without metadata.
        racks: the racks of each partition's replicas, one collection a partition; None where the cluster has no racks.
        id: topic id, by which broker-side assignors decide; None stands for a stable id made from the name.
    """

    name: str
    partitions: int
    racks: Sequence[Collection[str]] | None = None
    id: uuid.UUID | None = None

    def __post_init__(self) -> None:
        if self.partitions < 0:
            raise InvalidGroupError(f"topic {self.name!r} has {self.partitions} partitions; give 0 or more")
        if self.racks is not None and len(self.racks) != self.partitions:
            raise InvalidGroupError(
                f"topic {self.name!r} has {self.partitions} partitions but racks for {len(self.racks)}; "
                "give one collection of racks per partition"
            )


@dataclass(frozen=True, slots=True)
class Member:
    """A member of the group with what it told the coordinator when it joined (JoinGroup).

    Attributes:
        id: member id.
        topics: names of the topics it subscribes to.
        instance_id: `group.instance.id` of a static member (KIP-345).
        rack: `client.rack` (KIP-881); "" means none, as on the wire.
        owned: partitions it says it owns (KIP-429).
        generation: generation of that claim; None or below 0 means it has none (KIP-792).
        user_data: the assignor's own bytes, or the same decoded.
    """

    id: str
    topics: Sequence[str]
    instance_id: str | None = field(default=None, kw_only=True)
    rack: str | None = field(default=None, kw_only=True)
    owned: Sequence[TopicPartition] | PartitionList = field(default=(), kw_only=True)
    generation: int | None = field(default=None, kw_only=True)
    user_data: bytes | StickyUserData | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class StickyUserData:
    """What a member of a "sticky" group remembers, not yet bytes (KIP-341).

    Attributes:
        partitions: what it was assigned last.
        generation: in which generation; None for the old form that has none.
    """

    partitions: PartitionList
    generation: int | None

    def __bytes__(self) -> bytes:
        from assignors.protocol import encode_sticky_user_data  # noqa: PLC0415 - bytes are made only when asked for

        return encode_sticky_user_data(self.partitions, self.generation)


@dataclass(frozen=True, slots=True)
class Group:
    """Topics and members of one rebalance; member order is that of the JoinGroup response.

    Raises:
        InvalidGroupError: two topics of one name or two members of one id.
    """

    topics: Sequence[Topic]
    members: Sequence[Member]

    def __post_init__(self) -> None:
        for what, names in (
            ("topic", [topic.name for topic in self.topics]),
            ("member", [member.id for member in self.members]),
        ):
            if len(set(names)) != len(names):
                seen: set[str] = set()
                twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
                raise InvalidGroupError(f"{what} {twice!r} is in the group twice; name each {what} once")

    def next(
        self,
        assignment: Assignment,
        *,
        join: Sequence[Member] = (),
        leave: Collection[str] = (),
        topics: Sequence[Topic] | None = None,
    ) -> Group:
        """The group at its next rebalance: members carry on what they got, one generation later."""
        raise NotImplementedError
