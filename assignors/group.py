"""A consumer group as its leader sees it: topics, and members with what they carry on from before."""

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
from partitioning.kit.limits import MAX_TOPIC_NAME, check_members, check_partitions
from partitioning.topic_partition import MAX_PARTITIONS, TopicPartition, is_integer

_T = TypeVar("_T")


def _make_many(kind: type[_T], count: int, **attributes: Iterable[object]) -> list[_T]:
    """Instances of a frozen class with slots from all its attributes; calling it takes five times as long."""
    # The slots' own setters: a frozen class refuses `setattr`, and its `__init__` would be called for each
    # one.
    instances = list(map(object.__new__, repeat(kind, count)))
    for name, values in attributes.items():
        deque(map(getattr(kind, name).__set__, instances, values), maxlen=0)
    return instances


def check_ids(**ids: Sequence[str]) -> None:
    """Raise InvalidGroupError for an id, or name, that is twice among those of its kind."""
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
        partitions: how many partitions it has; 0 stands for a topic without metadata.
        racks: the racks of each partition's replicas, one collection a partition; None if the cluster has
            no racks.
        id: topic id, by which broker-side assignors decide; None stands for a stable id made from the name.
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
        # A text is a collection of its letters: "east" would be taken for the racks e, a, s and t.
        if self.racks is not None and str in set(map(type, self.racks)):
            partition = next(number for number, names in enumerate(self.racks) if isinstance(names, str))
            raise InvalidGroupError(
                f"the racks of {self.name}-{partition} are the text {self.racks[partition]!r}; "
                "give a collection of rack names"
            )


@dataclass(frozen=True, slots=True)
class StickyUserData:
    """Remembers a "sticky" member's partitions and generation, not yet as bytes (KIP-341).

    >>> had = StickyUserData(PartitionList.of([("orders", 0)]), generation=3)
    >>> members = [Member("a", ["orders"]), Member("b", ["orders"], user_data=had)]
    >>> get_assignor("sticky").assign(Group([Topic("orders", 2)], members))["b"]
    PartitionList([('orders', 0)])

    Attributes:
        partitions: what it was assigned last, in the order it was assigned.
        generation: in which generation; None for the old form that has none.
    """

    partitions: PartitionList
    generation: int | None

    def __bytes__(self) -> bytes:
        return encode_sticky_user_data(self.partitions.by_topic(), self.generation)


@dataclass(frozen=True, slots=True)
class Member:
    """A member of the group with what it told the coordinator when it joined (JoinGroup).

    >>> Member("worker-1", ["orders"], instance_id="worker-1", rack="a").topics
    ['orders']

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


@dataclass(eq=False, repr=False)
class Carried(Sequence[Member]):
    """The members of `Group.next`: who stays, then who joins. A `Member` that stays is made where it is read.

    A coordinator that keeps its members' targets (KIP-848) passes them in this form, too, without joiners.

    Attributes:
        who: all members; of one that stays only id, topics, instance id and rack are still true.
        staying: how many stay.
        generation: in which these got what they carry on; None if the coordinator keeps it for them.
        sizes: how many partitions each of them carries on.
        received: these partitions, member by member, in the order in which they were given.
        hashes: Java's hash code of each id; None if they are not kept.
        columns: what somebody has asked `column` for, in a group that follows from another at once.
    """

    who: Sequence[Member]
    staying: int
    generation: int | None
    sizes: NDArray[np.integer]
    received: PartitionColumns
    hashes: NDArray[np.int32] | None = None
    columns: dict[str, tuple[Any, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, members: Sequence[Member]) -> "Carried":
        """Return these members, whoever made them; only `Group.next` knows of some that stay."""
        if isinstance(members, Carried):
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
        """The partitions that staying members report, by topic and number, as a consumer does (KIP-429)."""
        if self.generation is None:
            return self.received
        # A consumer sorts its owned partitions before it sends them, so the leader sees them in this order.
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
        # If the coordinator keeps targets, members send nothing along.
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
    """Topics and members of one rebalance; member order is that of the JoinGroup response.

    >>> group = Group([Topic("orders", 4)], [Member("a", ["orders"]), Member("b", ["orders"])])
    >>> len(group.members)
    2

    Attributes:
        topics: the cluster's topics, also those nobody subscribes to.
        members: who joined.
        generation: generation of the group before this rebalance; 0 for a group that never rebalanced.

    Raises:
        InvalidGroupError: two topics of one name, two members of one id, more of either than
            `partitioning.kit.limits` allows, or a generation that is no number.
    """

    topics: Sequence[Topic]
    members: Sequence[Member]
    generation: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        check_partitions(sum([topic.partitions for topic in self.topics]), InvalidGroupError, "the group")
        check_members(len(self.members), InvalidGroupError, "the group")
        members = Carried.of(self.members)
        joining = members.who[members.staying :]
        names = [topic.name for topic in self.topics]
        # If nobody joins, the members are some of those of a group that was checked already.
        check_ids(topic=names, member=members.column("id") if joining else ())
        # The usual case is decided by types at once; the loop only finds which value is wrong.
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
        """Return the group at its next rebalance: members carry on what they got, one generation later.

        A member that stays reports what `assignment` gave it as `owned`, in the order it travels (by topic,
        then partition), and remembers it as "sticky" user data. The generation of both is one above the
        group's and above every claim in it, so the first assignment of a new group is generation 1.

        >>> assignor = get_assignor("cooperative-sticky")
        >>> group = Group([Topic("orders", 4)], [Member("a", ["orders"]), Member("b", ["orders"])])
        >>> grown = group.next(assignor.assign(group), join=[Member("c", ["orders"])])
        >>> grown.generation, grown.members[0].owned
        (1, PartitionList([('orders', 0), ('orders', 2)]))
        >>> assignor.assign(grown).transferring
        mappingproxy({TopicPartition(topic='orders', partition=3): 'c'})

        Args:
            assignment: what an assignor gave for this group; each of its members is in it.
            join: members that join now, after the others in JoinGroup order, with what they claim themselves.
            leave: ids of members that leave.
            topics: the cluster's topics from now on; None leaves them as they are.

        Raises:
            InvalidGroupError: `leave` or `assignment` does not fit the members of this group.
        """
        # From here on columns: a group with a million partitions must not make a `Member` for each rebalance.
        before = Carried.of(self.members)
        listed, names, owner, topic, partition = assignment.to_arrays()
        ids = before.column("id")
        _check_members(ids, listed, leave)
        claimed = [member.generation or 0 for member in before.who[before.staying :]]
        generation = 1 + max(self.generation, before.generation or 0, *claimed)
        who, columns = before.who, before.columns
        if listed != ids:  # a strategy that is not ours may list the members in its own order
            place = {member_id: number for number, member_id in enumerate(ids)}
            owner = np.array([place[member_id] for member_id in listed], np.int32)[owner]
        if leave:
            stays = ~np.fromiter(map(set(leave).__contains__, ids), np.bool_, len(ids))
            # A member's new index is the number of those before it that stay; -1 for one that leaves.
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
        members = Carried([*who, *join], len(who), generation, sizes, received, columns=columns)
        if assignment.keeps_record:  # what is the same set as before is as the broker's record lists it
            records = {member.id: PartitionList.of(member.owned).as_assigned for member in self.members}
            for member in members[: len(who)]:
                if member.id in assignment.keeps_record:
                    member.owned.assigned = records[member.id]
        return Group(self.topics if topics is None else topics, members, generation=generation)


def _check_members(ids: tuple[str, ...], assigned: tuple[str, ...], leave: Collection[str]) -> None:
    """Raise InvalidGroupError if members leave that are not there, or the assignment is of another group."""
    for member in set(leave).difference(ids) if leave else ():
        raise InvalidGroupError(f"member {member!r} cannot leave: it is not in the group")
    if assigned != ids and (odd := set(assigned) ^ set(ids)):
        member = min(odd)
        fault = (
            "has no entry in the assignment" if member in ids else "is in the assignment but not in the group"
        )
        raise InvalidGroupError(f"member {member!r} {fault}; pass the assignment made for this group")


def topic_id(topic: Topic) -> bytes:
    """Return the topic's id, 16 bytes, or where it has none a stable one made from its name."""
    return made_id(topic.name) if topic.id is None else topic.id.bytes


@lru_cache(maxsize=1 << 16)
def made_id(name: str) -> bytes:
    """Return the id a topic's name stands for: Java's `UUID.nameUUIDFromBytes` of the name in UTF-8."""
    digest = hashlib.md5(name.encode("utf-8", "replace"), usedforsecurity=False).digest()
    return uuid.UUID(bytes=digest, version=3).bytes


_RANDOM_ID = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_RANDOM_ID_LENGTH = 37


def name_in(member_id: str) -> str | None:
    """Return the client id in an id of the classic protocol, or of a static member the instance id.

    A coordinator puts a random UUID behind it; None for an id of another form.
    """
    match = _RANDOM_ID.fullmatch(member_id, len(member_id) - _RANDOM_ID_LENGTH)
    return member_id[:-_RANDOM_ID_LENGTH] or None if match else None
