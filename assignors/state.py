"""The state of a group at one moment, as seen from outside: its members and their partitions, as columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from assignors.assignment import Assignment
from assignors.explanation import Explainer
from assignors.partition_list import PartitionList
from partitioning.errors import SourceError
from partitioning.kit.limits import check_partitions
from partitioning.topic_partition import TopicPartition

UNKNOWN_LAG = -(2**63)
"""The mark for an unknown lag. A known lag is negative if a group has committed an offset beyond the end."""

CONNECT = "connect"
"""`GroupState.protocol` of a Connect cluster: the protocol of Kafka Connect's workers."""

TopicRacks: TypeAlias = tuple[tuple[str, ...], ...]
"""The racks of each partition's replicas, in the order of partition numbers."""


class MemberIdentity(NamedTuple):
    """Identifies a member: its member id is new at each start, the other ids survive a restart.

    >>> MemberIdentity("billing-1-8f3c", instance_id="billing-1", topics=("orders",)).instance_id
    'billing-1'

    Attributes:
        id: the member id.
        instance_id: `group.instance.id`; None if there is none.
        client_id: `client.id`; None if unknown.
        host: the address of the consumer; None if unknown.
        topics: the names of the topics that the member subscribes to; None if unknown.
        rack: `client.rack`.
        protocol: the protocol that the member uses: "consumer" (KIP-848); "classic", in a group of the
            consumer protocol; or "cooperative", in a classic group, because it kept partitions when it joined
            again. None if unknown.
    """

    id: str
    instance_id: str | None = None
    client_id: str | None = None
    host: str | None = None
    topics: tuple[str, ...] | None = None
    rack: str | None = None
    protocol: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class GroupState:
    """Holds the owner of each partition: `members[member[i]]` has `partition[i]` of `topics[topic[i]]`.

    If two rows have the same partition and different members, that is a conflict. Real captures have some.

    >>> state = GroupState.of({"a": [("orders", 0), ("orders", 1)], "b": [("orders", 2)]})
    >>> state.topics, state.member.tolist(), state.partition.tolist()
    (('orders',), [0, 0, 1], [0, 1, 2])

    Attributes:
        members: the members of the group, including those without partitions.
        topics: topic names.
        member: for each row, an index into `members`; -1 for a partition without an owner. Int32.
        topic: for each row, an index into `topics`. Int32.
        partition: for each row, the partition number. Int32.
        lag: for each row, how many records are not consumed yet; `UNKNOWN_LAG` if unknown. Int64. None if no
            lag is known at all.
        complete: True if every partition of the topics has a row. If False, partitions without a row may
            exist.
        members_complete: True if every member of the group is in `members`. If False, the group may have
            further members without partitions.
        unlisted: how many members the source counts but does not list; they have no partitions. 0 if it
            counts none or lists all.
        name: the group's name; None if unknown.
        status: the group's state, such as "Stable"; None if unknown.
        strategy: the assignor that the group uses, such as "range"; None if unknown.
        protocol: "classic", "consumer" (KIP-848) or "connect" (workers of Kafka Connect); None if unknown.
        generation: a lower bound for the group's generation, from the generations that members report; None
            if they report none.
        leading_client: the client library whose rules made the assignment, such as "java" or "librdkafka",
            if the bytes of a classic group show it; else None.
        clients: the client libraries of the members, as far as their bytes show, sorted.
        group_version: the cluster's level of the feature group.version; 0 if it does not support the consumer
            protocol; None if unknown.
        topic_ids: the id of each topic, None if unknown; empty if none is known.
        racks: the racks of each topic's replicas, None if unknown; empty if none is known.
        warnings: facts about the origin of this state that its reader should know.
        assumed: assumptions that were made because no source has the facts, such as subscriptions. A decision
            based on this state depends on them.
        explainer: explains why each partition has its owner, for a state that an assignor planned.
        deploy: how all members are replaced on the way to a planned state, "rolling" or "surge"; None if they
            are not replaced.
        moves: for a planned state that depends on unknown member ids, the fewest and the most partitions that
            move over the ids that were tried. None for any other state, or if too few ids could be tried.
    """

    members: tuple[MemberIdentity, ...]
    topics: tuple[str, ...]
    member: NDArray[np.int32]
    topic: NDArray[np.int32]
    partition: NDArray[np.int32]
    lag: NDArray[np.int64] | None = None
    complete: bool = False
    members_complete: bool = True
    unlisted: int = 0
    name: str | None = None
    status: str | None = None
    strategy: str | None = None
    protocol: str | None = None
    generation: int | None = None
    leading_client: str | None = None
    clients: tuple[str, ...] = ()
    group_version: int | None = None
    topic_ids: tuple[UUID | None, ...] = ()
    racks: tuple[TopicRacks | None, ...] = ()
    warnings: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    explainer: Explainer | None = None
    deploy: Literal["rolling", "surge"] | None = None
    moves: tuple[int, int] | None = None

    @property
    def highest_counts(self) -> NDArray[np.int64]:
        """The highest partition number of each topic plus one, of shape (topics,); counts may be greater."""
        counts = np.zeros(len(self.topics), np.int64)
        np.maximum.at(counts, self.topic, self.partition.astype(np.int64) + 1)
        return counts

    @property
    def counts_by_topic(self) -> dict[str, int]:
        """`highest_counts`, by topic name."""
        return dict(zip(self.topics, self.highest_counts.tolist(), strict=True))

    @property
    def places(self) -> list[tuple[str, int]]:
        """The topic name and the partition number of each row."""
        names = (self.topics[topic] for topic in self.topic.tolist())
        return list(zip(names, self.partition.tolist(), strict=True))

    @property
    def lag_by_place(self) -> dict[tuple[str, int], int]:
        """The lag of each partition whose lag is known, by topic name and number."""
        if self.lag is None:
            return {}
        rows = zip(self.places, self.lag.tolist(), strict=True)
        return {place: lag for place, lag in rows if lag != UNKNOWN_LAG}

    @property
    def assignment(self) -> Assignment:
        """The members' partitions as an `Assignment`."""
        # Rows without an owner (-1) come first; `offsets[0]` is how many there are.
        order = np.argsort(self.member, kind="stable")
        offsets = np.searchsorted(self.member[order], np.arange(len(self.members) + 1))
        owned = order[offsets[0] :]
        return Assignment(
            tuple(member.id for member in self.members),
            self.topics,
            self.highest_counts,
            offsets - offsets[0],
            self.topic[owned],
            self.partition[owned],
        )

    @classmethod
    def without_partitions(cls, members: tuple[MemberIdentity, ...] = (), **fields: Any) -> "GroupState":
        """Return a state in which no member has partitions; `fields` are other attributes."""
        nothing = np.empty(0, np.int32)
        return cls(members, (), nothing, nothing, nothing, **fields)

    @classmethod
    def of(
        cls, value: "GroupState | Assignment | Mapping[str, Sequence[TopicPartition] | PartitionList]"
    ) -> "GroupState":
        """Return an assignment as a state.

        The state of an `Assignment` has its unassigned partitions, too, and is complete. The state of a plain
        mapping has no unassigned partitions, because a mapping does not tell them.
        """
        if isinstance(value, GroupState):
            return value
        assignment = value if isinstance(value, Assignment) else Assignment.of(value)
        members, topics, member, topic, partition = assignment.to_arrays()
        # Only the ids of these members are known.
        state = cls(tuple(MemberIdentity(name) for name in members), topics, member, topic, partition)
        return state.with_unowned(assignment.unassigned) if isinstance(value, Assignment) else state

    def with_unowned(self, partitions: PartitionList) -> "GroupState":
        """Return this state with these partitions added as rows without an owner; it counts as complete."""
        number = {name: index for index, name in enumerate(self.topics)}
        for name in partitions.names:
            number.setdefault(name, len(number))
        topic = np.array([number[name] for name in partitions.names], np.int32)[partitions.topics]
        # `topic_ids` and `racks` grow with the topics. If they are empty they stay empty: nothing is known.
        unknown = (None,) * (len(number) - len(self.topics))
        return replace(
            self,
            topics=tuple(number),
            topic_ids=self.topic_ids and (*self.topic_ids, *unknown),
            racks=self.racks and (*self.racks, *unknown),
            member=np.concatenate([self.member, np.full(len(topic), -1, np.int32)]),
            topic=np.concatenate([self.topic, topic]),
            partition=np.concatenate([self.partition, partitions.partitions]),
            lag=None
            if self.lag is None
            else np.concatenate([self.lag, np.full(len(topic), UNKNOWN_LAG, np.int64)]),
            complete=True,
        )

    def with_every_partition(self, counts: Mapping[str, int]) -> "GroupState":
        """Return this state with a row for every partition of these topics.

        A partition that has no row yet gets one without an owner.

        Args:
            counts: the partition count of each topic.

        Raises:
            SourceError: the topics have more partitions than a group may have.
        """
        if counts:
            widest = max(counts, key=counts.__getitem__)
            check_partitions(sum(counts.values()), SourceError, f"the group with topic {widest!r}")
        row = {name: number for number, name in enumerate(counts)}
        sizes = np.array([row.get(name, -1) for name in self.topics], np.int64)[self.topic]
        start = np.cumsum([0, *counts.values()])
        # A row may have a topic that is not in `counts`, or a number beyond the topic's count.
        listed = (sizes >= 0) & (self.partition < np.diff(start, append=0)[sizes])
        free = np.ones(int(start[-1]), np.bool_)
        # Partitions that stay free have no row yet.
        free[start[sizes[listed]] + self.partition[listed]] = False
        flat = np.flatnonzero(free)
        topic = np.searchsorted(start, flat, side="right") - 1
        numbers = flat - start[topic]
        return self.with_unowned(
            PartitionList(tuple(counts), topic.astype(np.int32), numbers.astype(np.int32))
        )


def strategy_name(assignor: str | None, protocol: str | None) -> str | None:
    """Return the name that this package has for a group's assignor; None if the group has no assignor.

    The coordinator of the consumer protocol has an assignor "range" whose rule is not that of the clients'
    "range", so it is called "broker-range" (KIP-848).

    >>> [strategy_name("range", "classic"), strategy_name("range", "consumer"), strategy_name("", "classic")]
    ['range', 'broker-range', None]
    """
    return "broker-range" if (assignor, protocol) == ("range", "consumer") else assignor or None
