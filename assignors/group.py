"""A consumer group as its leader sees it: topics, and members with their previous partitions."""

import hashlib
import re
import uuid
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import compress, repeat
from operator import attrgetter
from types import NoneType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from assignors.assignment import Assignment
from assignors.partition_list import PartitionColumns, PartitionList, check_numbers, in_java_order
from assignors.protocol import encode_sticky_user_data
from partitioning.errors import InvalidGroupError
from partitioning.kit.columns import bounds, sort_rows
from partitioning.kit.limits import MAX_TOPIC_NAME, check_members, check_partitions, is_integer
from partitioning.topic_partition import MAX_PARTITIONS, TopicPartition

_T = TypeVar("_T")


def _make_many(kind: type[_T], count: int, **attributes: Iterable[object]) -> list[_T]:
    """Return `count` instances of a frozen class with slots, given the values of all its attributes.

    To call the class for each instance would take five times as long.
    """
    # The setters of the slots are called directly, because a frozen class refuses `setattr`.
    instances = list(map(object.__new__, repeat(kind, count)))
    for name, values in attributes.items():
        deque(map(getattr(kind, name).__set__, instances, values), maxlen=0)
    return instances


def check_ids(**ids: Sequence[str]) -> None:
    """Raise InvalidGroupError if one of these lists has an id twice; the keyword names the kind of id."""
    for what, names in ids.items():
        if len(set(names)) != len(names):
            twice = next(name for name, times in Counter(names).items() if times > 1)
            raise InvalidGroupError(f"{what} {twice!r} is in the group twice; name each {what} once")


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic in the cluster's metadata.

    >>> Topic("orders", 2, racks=[{"a", "b"}, {"b", "c"}]).partitions
    2

    Attributes:
        name: topic name.
        partitions: the partition count; 0 stands for a topic without metadata.
        racks: the racks of each partition's replicas, one collection for each partition; None if the cluster
            has no racks.
        id: topic id, which matters to broker-side assignors; None stands for an id that is made from the
            name.
    """

    name: str
    partitions: int
    racks: Sequence[Collection[str]] | None = None
    id: uuid.UUID | None = None

    def __post_init__(self) -> None:
        if not (is_integer(self.partitions) and 0 <= self.partitions <= MAX_PARTITIONS):
            raise InvalidGroupError(
                f"topic {self.name!r} has {self.partitions!r} partitions; give 0 to {MAX_PARTITIONS}"
            )
        if len(self.name) > MAX_TOPIC_NAME:
            raise InvalidGroupError(
                f"topic {self.name[:40]!r}... has a name of {len(self.name)} characters; "
                f"a broker allows {MAX_TOPIC_NAME}"
            )
        if self.racks is not None and len(self.racks) != self.partitions:
            raise InvalidGroupError(
                f"topic {self.name!r} has {self.partitions} partitions but racks for {len(self.racks)}; "
                "give one collection of racks per partition"
            )
        # A text is a collection of its letters: "east" would mean the racks e, a, s and t.
        if self.racks is not None and str in set(map(type, self.racks)):
            partition = next(number for number, names in enumerate(self.racks) if isinstance(names, str))
            raise InvalidGroupError(
                f"the racks of {self.name}-{partition} are the text {self.racks[partition]!r}; "
                "give a collection of rack names"
            )


@dataclass(frozen=True, slots=True)
class StickyUserData:
    """Holds the user data of a "sticky" member before it is encoded as bytes (KIP-341).

    >>> had = StickyUserData(PartitionList.of([("orders", 0)]), generation=3)
    >>> members = [Member("a", ["orders"]), Member("b", ["orders"], user_data=had)]
    >>> get_assignor("sticky").assign(Group([Topic("orders", 2)], members))["b"]
    PartitionList([('orders', 0)])

    Attributes:
        partitions: the partitions that the member was assigned last, in the order of that assignment.
        generation: the generation of that assignment; None for the older form, which has no generation.
    """

    partitions: PartitionList
    generation: int | None

    def __bytes__(self) -> bytes:
        return encode_sticky_user_data(self.partitions.by_topic(), self.generation)


@dataclass(frozen=True, slots=True)
class Member:
    """A member of the group with the data that it sent when it joined (JoinGroup).

    >>> Member("worker-1", ["orders"], instance_id="worker-1", rack="a").topics
    ['orders']

    Attributes:
        id: the member id.
        topics: the names of the topics that the member subscribes to.
        instance_id: `group.instance.id` of a static member (KIP-345); None for a dynamic member.
        rack: `client.rack` (KIP-881); None or "" means none, as on the wire.
        owned: the partitions that the member reports as its own (KIP-429).
        generation: the generation in which the member got `owned`; None or a negative number means that it
            reports none (KIP-792).
        user_data: the assignor's own bytes, or their decoded form; None if the member sends none.
    """

    id: str
    topics: Sequence[str]
    instance_id: str | None = field(default=None, kw_only=True)
    rack: str | None = field(default=None, kw_only=True)
    owned: Sequence[TopicPartition] | PartitionList = field(default=(), kw_only=True)
    generation: int | None = field(default=None, kw_only=True)
    user_data: bytes | StickyUserData | None = field(default=None, kw_only=True)


@dataclass(eq=False, repr=False)
class CarriedMembers(Sequence[Member]):
    """The members of a group after a change, stored as columns: those that stay, then those that join.

    `Member` objects are built when they are read. A coordinator that keeps its members' targets (KIP-848)
    passes members in this form, too; then no member joins.

    Attributes:
        who: all members. Of a member that stays, only id, topics, instance id and rack are valid.
        staying: how many members stay; these come first in `who`.
        generation: the generation in which the staying members got their partitions; None if a coordinator
            keeps their targets.
        sizes: how many partitions each staying member has.
        received: these partitions, member by member, in the order in which they were assigned.
        hashes: Java's hash code of each member id; None if they are not known.
        columns: the results of `column`, by name. `Group.next` passes them on to the next group.
    """

    who: Sequence[Member]
    staying: int
    generation: int | None
    sizes: NDArray[np.integer]
    received: PartitionColumns
    hashes: NDArray[np.int32] | None = None
    columns: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, members: Sequence[Member]) -> "CarriedMembers":
        """Return these members as `CarriedMembers`; the members of a plain list all count as joining."""
        if isinstance(members, CarriedMembers):
            return members
        none = np.empty(0, np.int32)
        return cls(members, 0, 0, none, PartitionColumns((), none, none))

    def column(self, name: str) -> tuple[Any, ...]:
        """Return the id, topics, instance id or rack of every member."""
        if name not in self.columns:
            self.columns[name] = tuple(map(attrgetter(name), self.who))
        return self.columns[name]

    @cached_property
    def owned(self) -> PartitionColumns:
        """The partitions that staying members report (KIP-429), by member, then topic, then number.

        If a coordinator keeps the targets, these partitions are `received`, in its order.
        """
        if self.generation is None:
            return self.received
        # A consumer sorts its owned partitions before it sends them, so the leader reads them in this order.
        names, rank = in_java_order(self.received.names)
        member = np.repeat(np.arange(self.staying), self.sizes)
        _, ranks, numbers = sort_rows(member, rank[self.received.topics], self.received.partitions)
        return PartitionColumns(names, ranks.astype(np.int32), numbers.astype(np.int32))

    @cached_property
    def _members(self) -> list[Member]:
        ends, staying = bounds(self.sizes).tolist(), self.who[: self.staying]
        received = PartitionList.parts(self.received, ends)
        owned = PartitionList.parts(self.owned, ends, received)
        generation = repeat(self.generation)
        # If the coordinator keeps targets, members send no user data.
        data: Iterable[object] = repeat(None)
        if self.generation is not None:
            data = _make_many(StickyUserData, self.staying, partitions=received, generation=generation)
        kept = {name: map(attrgetter(name), staying) for name in ("id", "topics", "instance_id", "rack")}
        changed = {"owned": owned, "generation": generation, "user_data": data}
        return [*_make_many(Member, self.staying, **kept, **changed), *self.who[self.staying :]]

    def __len__(self) -> int:
        return len(self.who)

    def __getitem__(self, index: Any) -> Any:
        return self._members[index]

    def __iter__(self) -> Iterator[Member]:
        return iter(self._members)

    def __eq__(self, other: object) -> bool:
        return self._members == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._members)


@dataclass(frozen=True, slots=True)
class Group:
    """The topics and members of one rebalance. Members are in the order of the JoinGroup response.

    >>> group = Group([Topic("orders", 4)], [Member("a", ["orders"]), Member("b", ["orders"])])
    >>> len(group.members)
    2

    Attributes:
        topics: the cluster's topics, including topics without a subscriber.
        members: the members that joined.
        generation: the group's generation before this rebalance; 0 if it has never rebalanced.

    Raises:
        InvalidGroupError: two topics have the same name, two members have the same id, there are more
            partitions or members than `partitioning.kit.limits` allows, or a generation is not an integer.
    """

    topics: Sequence[Topic]
    members: Sequence[Member]
    generation: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        check_partitions(sum([topic.partitions for topic in self.topics]), InvalidGroupError, "the group")
        check_members(len(self.members), InvalidGroupError, "the group")
        members = CarriedMembers.of(self.members)
        joining = members.who[members.staying :]
        names = [topic.name for topic in self.topics]
        # If no member joins, all members come from a group whose ids were checked already.
        check_ids(topic=names, member=members.column("id") if joining else ())
        # In the usual case the set of types is enough. The loop only finds the wrong value.
        generations = [self.generation, *[member.generation for member in joining]]
        if not {*map(type, generations)} <= {int, NoneType}:
            for generation in generations:
                if not (generation is None or is_integer(generation)):
                    raise InvalidGroupError(f"a generation in the group is {generation!r}; give an integer")
        for member in joining:
            if type(member.owned) is not PartitionList and member.owned:
                check_numbers(member.owned, member.id)

    def next(
        self,
        assignment: Assignment,
        *,
        join: Sequence[Member] = (),
        leave: Collection[str] = (),
        topics: Sequence[Topic] | None = None,
    ) -> "Group":
        """Return the group at its next rebalance, in which members report the partitions of `assignment`.

        A member that stays has its partitions in `owned`, in the order in which a consumer sends them (by
        topic, then number), and in "sticky" user data. Both have a generation that is one above the highest
        of the group's and those that members reported. So the first assignment of a new group has
        generation 1.

        >>> assignor = get_assignor("cooperative-sticky")
        >>> group = Group([Topic("orders", 4)], [Member("a", ["orders"]), Member("b", ["orders"])])
        >>> grown = group.next(assignor.assign(group), join=[Member("c", ["orders"])])
        >>> grown.generation, grown.members[0].owned
        (1, PartitionList([('orders', 0), ('orders', 2)]))
        >>> assignor.assign(grown).transferring
        mappingproxy({TopicPartition(topic='orders', partition=3): 'c'})

        Args:
            assignment: an assignment of this group; all members of the group must be in it.
            join: members that join now, with the data that they report themselves. They come after the other
                members in JoinGroup order.
            leave: ids of members that leave.
            topics: the cluster's topics from now on; None keeps them.

        Raises:
            InvalidGroupError: `leave` has an id that is not in this group, or `assignment` is of another
                group.
        """
        # All steps below work on columns: to build `Member` objects in each rebalance would cost too much in
        # a group with a million partitions.
        before = CarriedMembers.of(self.members)
        listed, names, owner, topic, partition = assignment.to_arrays()
        ids = before.column("id")
        _check_members(ids, listed, leave)
        claimed = [member.generation or 0 for member in before.who[before.staying :]]
        generation = 1 + max(self.generation, before.generation or 0, *claimed)
        who, columns = before.who, before.columns
        if listed != ids:  # an assignor that is not built in may list the members in another order
            place = {member_id: number for number, member_id in enumerate(ids)}
            owner = np.array([place[member_id] for member_id in listed], np.int32)[owner]
        if leave:
            stays = ~np.fromiter(map(set(leave).__contains__, ids), np.bool_, len(ids))
            # A member's new index is the number of members before it that stay. A member that leaves has -1.
            owner = np.where(stays, stays.cumsum(dtype=np.int32) - 1, -1)[owner]
            who = [*compress(who, stays)]
            columns = {name: tuple(compress(column, stays)) for name, column in columns.items()}
        if leave or listed != ids:
            # Rows of members that left come first (-1) and are dropped; the others are grouped by member
            # again.
            rows = np.argsort(owner, kind="stable")[np.count_nonzero(owner < 0) :]
            owner, topic, partition = owner[rows], topic[rows], partition[rows]
        sizes = np.bincount(owner, minlength=len(who))
        received = PartitionColumns(names, topic, partition)
        if join:
            columns = {name: (*column, *map(attrgetter(name), join)) for name, column in columns.items()}
        members = CarriedMembers([*who, *join], len(who), generation, sizes, received, columns=columns)
        # The broker does not write the record of these members again, so the order of their old record stays.
        if assignment.keeps_record:
            records = {member.id: PartitionList.of(member.owned).as_assigned for member in self.members}
            for member in members[: len(who)]:
                if member.id in assignment.keeps_record:
                    member.owned.assigned = records[member.id]
        return Group(self.topics if topics is None else topics, members, generation=generation)


def _check_members(ids: tuple[str, ...], assigned: tuple[str, ...], leave: Collection[str]) -> None:
    """Raise InvalidGroupError if a leaving member is not in the group, or the assignment is of another group.

    Args:
        ids: the ids of the group's members.
        assigned: the ids of the members in the assignment.
        leave: the ids of the members that leave.
    """
    for member in set(leave).difference(ids) if leave else ():
        raise InvalidGroupError(f"member {member!r} cannot leave: it is not in the group")
    if assigned != ids and (odd := set(assigned) ^ set(ids)):
        member = min(odd)
        fault = (
            "has no entry in the assignment" if member in ids else "is in the assignment but not in the group"
        )
        raise InvalidGroupError(f"member {member!r} {fault}; pass the assignment made for this group")


def topic_id(topic: Topic) -> bytes:
    """Return the topic's id as 16 bytes. A topic without an id gets an id that is made from its name."""
    return made_id(topic.name) if topic.id is None else topic.id.bytes


@lru_cache(maxsize=1 << 16)
def made_id(name: str) -> bytes:
    """Return the id that is made from a topic's name: Java's `UUID.nameUUIDFromBytes` of its UTF-8 bytes."""
    digest = hashlib.md5(name.encode("utf-8", "replace"), usedforsecurity=False).digest()
    return uuid.UUID(bytes=digest, version=3).bytes


_RANDOM_ID = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_RANDOM_ID_LENGTH = 37


def name_in(member_id: str) -> str | None:
    """Return the client id in a classic member id; for a static member, its instance id.

    A coordinator makes such ids by appending a random UUID. If the id has another form, None is returned.
    """
    match = _RANDOM_ID.fullmatch(member_id, len(member_id) - _RANDOM_ID_LENGTH)
    return member_id[:-_RANDOM_ID_LENGTH] or None if match else None
