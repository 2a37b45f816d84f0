"""A group at one moment as seen from outside: its members, and who has which partition, as columns."""

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
"""A lag that nobody knows; a real one is below zero where a group committed an offset beyond the end."""

CONNECT = "connect"
"""The protocol of Kafka Connect's workers: `GroupState.protocol` of a Connect cluster."""

# One tuple for each partition, in the order of their numbers.
TopicRacks: TypeAlias = tuple[tuple[str, ...], ...]
"""The racks of a topic's replicas, one tuple a partition."""


class MemberIdentity(NamedTuple):
    """Identifies a member: its member id is new at each start, the other ids survive a restart.

    >>> MemberIdentity("billing-1-8f3c", instance_id="billing-1", topics=("orders",)).instance_id
    'billing-1'

    Attributes:
        id: member id.
        instance_id: `group.instance.id`.
        client_id: `client.id`.
        host: address of the consumer.
        topics: what it subscribes to; None if nobody said.
        rack: `client.rack`.
        protocol: what the member was seen to speak: "consumer" (KIP-848), "classic" in a group of the
            consumer protocol, or "cooperative" in a classic group, because it kept partitions when it joined
            again; None if nobody said.
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
    """Says who has which partition: row i gives `members[member[i]]` `partition[i]` of `topics[topic[i]]`.

    Two rows of one partition with different members are a conflict, which real captures show.

    >>> state = GroupState.of({"a": [("orders", 0), ("orders", 1)], "b": [("orders", 2)]})
    >>> state.topics, state.member.tolist(), state.partition.tolist()
    (('orders',), [0, 0, 1], [0, 1, 2])

    Attributes:
        members: members of the group, idle ones too.
        topics: topic names.
        member: index into `members`, -1 for a partition without an owner; int32.
        topic: index into `topics`; int32.
        partition: partition numbers; int32.
        lag: records not consumed yet, `UNKNOWN_LAG` where unknown; int64. None if no lag is known at all.
        complete: whether every partition of the topics has a row; if not, a missing one may exist.
        members_complete: whether every member is in `members`; if not, a member without partitions may be
            in the group unseen.
        unlisted: how many members the source counts and does not list; each has no partition. 0 if it counts
            none or lists all.
        name: the group's name, where known.
        status: the group's state, such as "Stable", where known.
        strategy: the assignor that the group uses, such as "range", where known.
        protocol: "classic", "consumer" (KIP-848) or "connect" (workers of Kafka Connect), where known.
        generation: the lowest that the group's generation can be, where members told theirs.
        leading_client: the client library by whose rules assignments were made, such as "java" or
            "librdkafka", where a classic group's bytes tell.
        clients: the client libraries of its members, as far as their bytes tell, sorted.
        group_version: the cluster's level of the feature group.version, where known; 0: it does not know the
            consumer protocol.
        topic_ids: the id of each topic, None if unknown; empty if none is known.
        racks: the racks of each topic's replicas, None if unknown; empty if none is known.
        warnings: what a reader of this state should know about its origin.
        assumed: what was taken for granted because no source tells, such as subscriptions; a decision that
            rests on this state rests on that.
        explainer: tells why each partition is where it is, for a state that an assignor planned.
        deploy: how every member is replaced on the way to a planned state, "rolling" or "surge"; None if they
            are not.
        moves: the fewest and the most partitions that move over the ids that were tried, for a planned state
            that depends on ids that nobody knows; None for any other state, or if too few could be tried.
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
        """The partition count of each topic, as far as the highest number shows it."""
        counts = np.zeros(len(self.topics), np.int64)
        np.maximum.at(counts, self.topic, self.partition.astype(np.int64) + 1)
        return counts

    @property
    def counts_by_topic(self) -> dict[str, int]:
        """The same by topic name."""
        return dict(zip(self.topics, self.highest_counts.tolist(), strict=True))

    @property
    def places(self) -> list[tuple[str, int]]:
        """Topic and number of each row."""
        names = (self.topics[topic] for topic in self.topic.tolist())
        return list(zip(names, self.partition.tolist(), strict=True))

    @property
    def lag_by_place(self) -> dict[tuple[str, int], int]:
        """The lag of each partition by topic and number, where it is known."""
        if self.lag is None:
            return {}
        rows = zip(self.places, self.lag.tolist(), strict=True)
        return {place: lag for place, lag in rows if lag != UNKNOWN_LAG}

    @property
    def assignment(self) -> Assignment:
        """The members' partitions as the answer to their last rebalance."""
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
        """Return a state of members that have no partitions, or of no members.

        `fields` are other attributes.
        """
        nothing = np.empty(0, np.int32)
        return cls(members, (), nothing, nothing, nothing, **fields)

    @classmethod
    def of(
        cls, value: "GroupState | Assignment | Mapping[str, Sequence[TopicPartition] | PartitionList]"
    ) -> "GroupState":
        """Return an assignment as a state; an `Assignment` knows unowned partitions, a mapping does not."""
        if isinstance(value, GroupState):
            return value
        assignment = value if isinstance(value, Assignment) else Assignment.of(value)
        members, topics, member, topic, partition = assignment.to_arrays()
        # Nothing but ids is known of these members.
        state = cls(tuple(MemberIdentity(name) for name in members), topics, member, topic, partition)
        return state.with_unowned(assignment.unassigned) if isinstance(value, Assignment) else state

    def with_unowned(self, partitions: PartitionList) -> "GroupState":
        """Return this state and the partitions nobody has; after that it is complete."""
        number = {name: index for index, name in enumerate(self.topics)}
        for name in partitions.names:
            number.setdefault(name, len(number))
        topic = np.array([number[name] for name in partitions.names], np.int32)[partitions.topics]
        # Columns by topic grow with the topics; empty ones stay empty, as nothing is known at all.
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
        """Return this state with a row for every partition of these topics; those without one are nobody's.

        Raises:
            SourceError: they are more than a group may have.
        """
        if counts:
            widest = max(counts, key=counts.__getitem__)
            check_partitions(sum(counts.values()), SourceError, f"the group with topic {widest!r}")
        row = {name: number for number, name in enumerate(counts)}
        sizes = np.array([row.get(name, -1) for name in self.topics], np.int64)[self.topic]
        start = np.cumsum([0, *counts.values()])
        # A row may be of a topic that is not counted, or above the count that was given.
        listed = (sizes >= 0) & (self.partition < np.diff(start, append=0)[sizes])
        free = np.ones(int(start[-1]), np.bool_)
        # What is left is what no row names.
        free[start[sizes[listed]] + self.partition[listed]] = False
        flat = np.flatnonzero(free)
        topic = np.searchsorted(start, flat, side="right") - 1
        numbers = flat - start[topic]
        return self.with_unowned(
            PartitionList(tuple(counts), topic.astype(np.int32), numbers.astype(np.int32))
        )
