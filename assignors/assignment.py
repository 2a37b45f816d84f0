"""Stores an assignment (the partitions of each member) as columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.partition_list import PartitionColumns, PartitionList, join_lists
from partitioning.errors import InvalidGroupError
from partitioning.kit.columns import bounds
from partitioning.kit.limits import check_partitions
from partitioning.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True)
class Certificate:
    """Holds the peak of an assignment, and proven lower bounds for it.

    A peak is the largest load divided by the member's capacity, as a multiple of the mean ratio (the sum of
    all weights divided by the sum of all capacities). Partitions that are held back count as assigned. All
    peaks are 0.0 if there is nothing to assign.

    Attributes:
        peak: the peak of this assignment.
        bound: a lower bound: no assignment has a lower peak.
        bound_within_moves: a lower bound for the peak of assignments that move no more partitions than this
            one.
        moves: how many partitions leave a previous owner that is still a member and still subscribes.
    """

    peak: float
    bound: float
    bound_within_moves: float
    moves: int

    @property
    def gap(self) -> float:
        """The most by which this peak can exceed the least possible peak: 0.02 stands for 2 %."""
        return max(self.peak / self.bound - 1, 0.0) if self.bound else 0.0


class AssignmentArrays(NamedTuple):
    """An assignment as columns: `members[member[i]]` has partition `partition[i]` of `topics[topic[i]]`.

    Rows are grouped by member, in list order inside a member.

    >>> columns = Assignment.of({"a": [("orders", 0), ("orders", 1)], "b": [("orders", 2)]}).to_arrays()
    >>> columns.member.tolist(), columns.partition.tolist()
    ([0, 0, 1], [0, 1, 2])
    """

    members: tuple[str, ...]
    topics: tuple[str, ...]
    member: NDArray[np.int32]
    topic: NDArray[np.int32]
    partition: NDArray[np.int32]


class Assignment(Mapping[str, PartitionList]):
    """The partitions of every member of a group, in the JVM's list order.

    >>> assignment = Assignment.of({"a": [("orders", 0), ("orders", 1)], "b": [("orders", 2)]})
    >>> assignment["a"], assignment.owner_of(("orders", 2))
    (PartitionList([('orders', 0), ('orders', 1)]), 'b')

    Args:
        members: the ids of all members of the group, including members without a partition.
        topics: topic names.
        counts: the partition count of each topic, shape (len(topics),).
        offsets: member m has rows `offsets[m]:offsets[m + 1]`, shape (len(members) + 1,).
        topic: index into `topics` of each row.
        partition: partition number of each row.
        transferring: the partitions that are held back for one rebalance until their old owner has revoked
            them, and for each the index into `members` of the member that will get it. Only cooperative
            strategies have them.
        subscribed: True for each topic that some member subscribes to, shape (len(topics),); None if all
            topics have a subscriber.
        certificate: how near this assignment is to the best one by weight; None if the strategy does not
            weigh partitions.
        keeps_record: the ids of members whose record a broker does not write again, although the list here
            has another order than the record.
    """

    def __init__(
        self,
        members: tuple[str, ...],
        topics: tuple[str, ...],
        counts: NDArray[np.int64],
        offsets: NDArray[np.int64],
        topic: NDArray[np.int32],
        partition: NDArray[np.int32],
        *,
        transferring: tuple[PartitionList, NDArray[np.int32]] | None = None,
        subscribed: NDArray[np.bool_] | None = None,
        certificate: Certificate | None = None,
        keeps_record: frozenset[str] = frozenset(),
    ) -> None:
        self._members = members
        self._counts = counts
        self._offsets = offsets
        self._columns = PartitionColumns(topics, topic, partition)
        self._transferring = transferring
        self._subscribed = subscribed
        self.certificate = certificate
        self.keeps_record = keeps_record

    @classmethod
    def of(cls, lists: Mapping[str, Iterable[TopicPartition | tuple[str, int]]]) -> Assignment:
        """Return an assignment from plain lists, such as those of a live group.

        The partition count of a topic is its highest number in the lists, plus one.

        Raises:
            InvalidGroupError: a partition number is negative or does not fit 32 bits, or the topics have more
                than `MAX_GROUP_PARTITIONS` partitions together.
        """
        (names, topic, partition), sizes = join_lists(
            [PartitionList.of(partitions) for partitions in lists.values()]
        )
        if partition.min(initial=0) < 0:
            row = int((partition < 0).argmax())
            member = list(lists)[int(np.searchsorted(np.cumsum(sizes), row, side="right"))]
            raise InvalidGroupError(
                f"member {member!r} has partition {partition[row]} of {names[topic[row]]}; numbers begin at 0"
            )
        # Plain lists do not tell partition counts, so partitions above the highest number remain unknown.
        counts = np.zeros(len(names), np.int64)
        np.maximum.at(counts, topic, partition.astype(np.int64) + 1)
        check_partitions(int(counts.sum()), InvalidGroupError, "the assignment, by its highest numbers,")
        return cls(tuple(lists), names, counts, bounds(sizes), topic, partition)

    @classmethod
    def for_group(
        cls,
        group: assignors.group.Group,
        lists: Mapping[str, Iterable[TopicPartition | tuple[str, int]]],
        *,
        transferring: Mapping[TopicPartition, str] | None = None,
        keeps_record: frozenset[str] = frozenset(),
    ) -> Assignment:
        """Return a strategy's answer for a group; subscribed partitions that no list has are `unassigned`.

        Args:
            group: the group that is assigned.
            lists: the partitions of each member; a member without an entry has none.
            transferring: the partitions that are held back in this rebalance, each with the id of the member
                that will get it.
            keeps_record: see `Assignment`.

        Raises:
            InvalidGroupError: `lists` or `transferring` names a member that is not in the group.
        """
        place = {member.id: number for number, member in enumerate(group.members)}
        held = transferring or {}
        if strange := {*lists, *held.values()} - place.keys():
            raise InvalidGroupError(
                f"member {min(strange)!r} is not in the group; give partitions to its members"
            )
        # Only subscribed topics are kept. Otherwise `unassigned` would list the partitions of all other
        # topics.
        subscribed = {name for member in group.members for name in member.topics}
        topics = {topic.name: topic.partitions for topic in group.topics if topic.name in subscribed}
        parts = [PartitionList.of(lists.get(member.id, ())) for member in group.members]
        names = tuple(dict.fromkeys([*topics, *(name for part in parts for name in part.names)]))
        row = {name: number for number, name in enumerate(names)}
        columns, sizes = join_lists(parts)
        receivers = np.array([place[receiver] for receiver in held.values()], np.int32)
        return cls(
            tuple(place),
            names,
            np.array([topics.get(name, 0) for name in names], np.int64),
            bounds(sizes),
            np.array([row[name] for name in columns.names], np.int32)[columns.topics],
            columns.partitions,
            transferring=(PartitionList.of(held), receivers),
            keeps_record=keeps_record,
        )

    @cached_property
    def _rows_of(self) -> dict[str, int]:
        """The index of each member id."""
        return {member: row for row, member in enumerate(self._members)}

    def __getitem__(self, member: str) -> PartitionList:
        row = self._rows_of[member]
        return PartitionList.part(self._columns, int(self._offsets[row]), int(self._offsets[row + 1]))

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def __repr__(self) -> str:
        shown = [f"{member!r}: {self[member]!r}" for member in self._members[:20]]
        if len(self) > 20:
            shown.append(f"... {len(self) - 20} more")
        return f"Assignment({{{', '.join(shown)}}})"

    @cached_property
    def _member_column(self) -> NDArray[np.int32]:
        """The member of each row, int32."""
        return np.arange(len(self._members), dtype=np.int32).repeat(np.diff(self._offsets))

    @cached_property
    def _base(self) -> NDArray[np.int64]:
        """The flat index of each topic's partition 0, and last the number of all partitions."""
        return bounds(self._counts)

    @cached_property
    def _topic_rows(self) -> dict[str, int]:
        """The index of each topic name."""
        return {topic: row for row, topic in enumerate(self._columns.names)}

    @cached_property
    def _owners(self) -> NDArray[np.int32]:
        """The index of the member that has each partition, by flat index; -1 for none."""
        owners = np.full(int(self._base[-1]), -1, np.int32)
        _, topic, partition = self._columns
        exists = (partition >= 0) & (partition < self._counts[topic])
        # In some answers of the JVM two members have the same partition. Then the later member counts.
        owners[self._base[topic[exists]] + partition[exists]] = self._member_column[exists]
        return owners

    def owner_of(self, partition: TopicPartition | tuple[str, int]) -> str | None:
        """Return the id of the member that has this partition; None if no member has it."""
        topic, number = partition
        row = self._topic_rows.get(topic)
        if row is None or not 0 <= number < self._counts[row]:
            return None
        owner = int(self._owners[self._base[row] + number])
        return None if owner < 0 else self._members[owner]

    @cached_property
    def transferring(self) -> Mapping[TopicPartition, str]:
        """The partitions held back in this rebalance, each with the member that will get it (KIP-429)."""
        if self._transferring is None:
            return MappingProxyType({})
        partitions, receivers = self._transferring
        return MappingProxyType(
            {
                partition: self._members[receiver]
                for partition, receiver in zip(partitions, receivers.tolist(), strict=True)
            }
        )

    @cached_property
    def unassigned(self) -> PartitionList:
        """Partitions of subscribed topics that no member has, those held back included."""
        free = self._owners < 0
        if self._subscribed is not None:
            free &= np.repeat(self._subscribed, self._counts)
        flat = np.flatnonzero(free)
        topic = np.searchsorted(self._base, flat, side="right") - 1
        return PartitionList(
            self._columns.names, topic.astype(np.int32), (flat - self._base[topic]).astype(np.int32)
        )

    def to_arrays(self) -> AssignmentArrays:
        """Return the assignment as columns, grouped by member; the arrays are views, do not write to them."""
        topics, topic, partition = self._columns
        return AssignmentArrays(self._members, topics, self._member_column, topic, partition)


# This import is at the end because each of the two modules names the other's class in signatures, and
# `typing.get_type_hints` must find both at run time.
import assignors.group  # noqa: E402
