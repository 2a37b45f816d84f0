"""The view of a group that Kafka gives to its assignors, in the order of Java's maps.

The first part of the file serves the client's assignors. `GroupSpec` and `Targets` serve the coordinator's
assignors (KIP-848). All of this is as in Kafka 4.4.0 (the same in 4.1 to 4.4).
"""

import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain

from assignors.group import Group, Member, Topic, made_id, topic_id
from assignors.partition_list import PartitionList
from partitioning.java import utf16_key
from partitioning.java.hash_map import DEFAULT_LENGTH, HashMap, HashSet
from partitioning.topic_partition import TopicPartition


def members_by_id(group: Group) -> HashMap[str, Member]:
    """Return the `HashMap` of members that leader and coordinator have, filled in JoinGroup order."""
    return HashMap({member.id: member for member in group.members}, capacity=DEFAULT_LENGTH)


def sorted_members(group: Group) -> list[Member]:
    """Return the members in the order in which range and roundrobin serve them.

    Static members come first, by instance id (KIP-345), then dynamic ones by member id. Members that share an
    instance id stay in the order of the `HashMap`; no coordinator admits such members. In Kafka this is
    `AbstractPartitionAssignor.MemberInfo.compareTo`, and on the broker `RangeAssignor.sortMemberIds`.
    """
    return sorted(members_by_id(group).values(), key=_member_info)


def _member_info(member: Member) -> tuple[bool, bytes]:
    """Return the sort key of a member.

    Quirk: Java compares texts by UTF-16 code unit, so U+1F600 comes before U+FF5E.
    """
    if member.instance_id is not None:
        return False, utf16_key(member.instance_id)
    return True, utf16_key(member.id)


def partitions_per_topic(group: Group) -> HashMap[str, int]:
    """Return the partition count of each subscribed topic that exists (`AbstractPartitionAssignor.assign`).

    The order of this map decides the order of the members' lists.
    """
    # 1. Make a HashSet of all subscribed topics. To add a topic again changes nothing.
    subscriptions = (member.topics for member in members_by_id(group).values())
    topics = dict.fromkeys(chain.from_iterable(subscriptions))
    all_subscribed_topics = HashSet(topics, capacity=DEFAULT_LENGTH)

    # 2. Fill a HashMap with the topics that have partitions, in the order of that set.
    metadata = {topic.name: topic.partitions for topic in group.topics}
    counts = {topic: metadata[topic] for topic in all_subscribed_topics if metadata.get(topic)}
    return HashMap(counts, capacity=DEFAULT_LENGTH)


def racks_of_partitions(topic: Topic) -> list[frozenset[str]]:
    """Return the racks of each partition's replicas, by partition number; unknown racks are left out."""
    racks = [()] * topic.partitions if topic.racks is None else topic.racks
    return [frozenset(names).difference((None,)) for names in racks]


def use_rack_aware_assignment(
    consumer_racks: Iterable[str], racks_per_partition: Iterable[frozenset[str]]
) -> bool:
    """Return whether racks change the answer (`AbstractPartitionAssignor.useRackAwareAssignment`, KIP-881).

    They do if a replica is in some consumer's rack, unless every partition has a replica in every rack.

    Args:
        consumer_racks: the racks of the consumers.
        racks_per_partition: the racks of each partition's replicas.
    """
    distinct = set(racks_per_partition)
    all_partition_racks = frozenset[str]().union(*distinct)
    if all_partition_racks.isdisjoint(consumer_racks):
        return False
    return any(racks != all_partition_racks for racks in distinct)


TargetAssignment = HashMap[uuid.UUID, HashSet[int]]
"""The partition numbers of each topic id."""


def from_record(record: Mapping[uuid.UUID, Collection[int]]) -> TargetAssignment:
    """Return a target read back from the coordinator's log (`modern.Assignment.fromRecord`)."""
    target = {topic: HashSet(partitions) for topic, partitions in record.items()}
    return HashMap(target, capacity=DEFAULT_LENGTH)


def deep_copy_assignment(assignment: TargetAssignment) -> TargetAssignment:
    """Return a copy of a target assignment (`AssignorHelpers.deepCopyAssignment`).

    Quirk: the copy's tables get a new length, so its order can differ.
    """
    copy = {topic: HashSet(partitions) for topic, partitions in assignment.items()}
    return HashMap(copy, capacity=len(copy))


def is_settled(assignment: TargetAssignment) -> bool:
    """Return whether a copy of the target has the same order.

    The copy of a crowded set, such as one of 0, 16, 32 and so on, can have another order.
    """
    return all(list(HashSet(partitions)) == list(partitions) for partitions in assignment.values())


def remove_partition(assignment: TargetAssignment, topic: uuid.UUID, partition: int) -> None:
    """Remove a partition from a target; remove its topic, too, if no partition of it is left."""
    partitions = assignment.get(topic)
    if partitions is not None:
        partitions.discard(partition)
        if not partitions:
            del assignment[topic]


class TopicIds(Collection[uuid.UUID]):
    """A member's subscription (Kafka's `TopicIds`): topic ids in the order of the HashSet of their names."""

    def __init__(self, names: HashSet[str], ids: Mapping[str, uuid.UUID]) -> None:
        self._names = names
        self._ids = dict.fromkeys(ids[name] for name in names if name in ids)

    def __iter__(self) -> Iterator[uuid.UUID]:
        return iter(self._ids)

    def __contains__(self, topic: object) -> bool:
        return topic in self._ids

    def __len__(self) -> int:
        """Return the number of topic names.

        Quirk: topics that do not exist count, although iteration leaves them out.
        """
        return len(self._names)


class GroupSpec:
    """A group as its assignors see it (`GroupSpecImpl` and `SubscribedTopicDescriberImpl`).

    A topic without an id gets an id that is made from its name.

    Attributes:
        member_ids: the members, in the order in which the coordinator's HashMap iterates over them.
        num_partitions: the partition count of each topic that exists, by topic id.
        subscribed_topic_ids: the subscription of each member, by member id.
        is_homogeneous: True if all members name the same topics, in any order. Topics that do not exist
            count.
    """

    def __init__(self, group: Group) -> None:
        topics = [topic for topic in group.topics if topic.partitions]
        self._ids = {topic.name: uuid.UUID(bytes=topic_id(topic)) for topic in topics}
        self._names = {topic: name for name, topic in self._ids.items()}
        self._members = members_by_id(group)
        self.member_ids = list(self._members)
        self.num_partitions = {self._ids[topic.name]: topic.partitions for topic in topics}
        subscriptions = {member.id: tuple(member.topics) for member in group.members}
        views = {names: TopicIds(HashSet(names), self._ids) for names in set(subscriptions.values())}
        self.subscribed_topic_ids = {member: views[names] for member, names in subscriptions.items()}
        self.is_homogeneous = len({frozenset(names) for names in views}) <= 1

    @cached_property
    def member_assignment(self) -> dict[str, TargetAssignment]:
        """The last target assignment of each member, by member id. Callers must not change it."""
        return {member.id: from_record(self._record(member.owned)) for member in self._members.values()}

    def _record(self, owned: Sequence[TopicPartition]) -> dict[uuid.UUID, list[int]]:
        """Return a member's record in the coordinator's log.

        The record has partition numbers by topic id, in the order in which they were assigned.
        """
        record: dict[uuid.UUID, list[int]] = {}
        for topic, partition in PartitionList.of(owned).as_assigned:
            record.setdefault(self._id_of(topic), []).append(partition)
        return record

    def _id_of(self, topic: str) -> uuid.UUID:
        """Return the id of a topic; a deleted topic gets an id that is made from its name."""
        if topic not in self._ids:
            self._ids[topic] = uuid.UUID(bytes=made_id(topic))
            self._names[self._ids[topic]] = topic
        return self._ids[topic]

    def beyond_count(self, member: str, topic: uuid.UUID, partition: int) -> str | None:
        """Return an error message if a member's target has a partition that does not exist; else None."""
        count = self.num_partitions[topic]
        if 0 <= partition < count:
            return None
        return (
            f"{self.topic_partition(topic, partition)}, which member {member!r} owns, does not exist "
            f"(the topic has {count} partitions)"
        )

    def topic_partition(self, topic: uuid.UUID, partition: int) -> TopicPartition:
        """Return a partition by its topic's name."""
        return TopicPartition(self._names[topic], partition)

    def partition_lists(
        self, assignment: Mapping[str, Mapping[uuid.UUID, Iterable[int]]]
    ) -> dict[str, list[TopicPartition]]:
        """Return the partitions of each member, in the order in which the member's maps iterate."""
        return {
            member: [
                self.topic_partition(topic, number) for topic, numbers in target.items() for number in numbers
            ]
            for member, target in assignment.items()
        }


class Targets:
    """Holds the old target of each member, and the changed copies. A member is an index into `member_ids`.

    Attributes:
        old: the last target of each member, which stays unchanged.
        _new: the copies of the targets that change, by member.
    """

    def __init__(self, spec: GroupSpec) -> None:
        self._member_ids = spec.member_ids
        self.old = [spec.member_assignment[member] for member in spec.member_ids]
        self._new: dict[int, TargetAssignment] = {}

    def result(self) -> dict[str, TargetAssignment]:
        """Return the target of each member, by member id; a target without changes is the old object."""
        return {
            member: self._new.get(index, self.old[index]) for index, member in enumerate(self._member_ids)
        }

    def changeable(self, member: int) -> TargetAssignment:
        """Return a copy of the member's target that may be changed; later calls return the same copy.

        Quirk: the copy can have another order. Kafka sometimes makes it although nothing changes then.
        """
        if member not in self._new:
            self._new[member] = deep_copy_assignment(self.old[member])
        return self._new[member]
