"""What the coordinator tells its assignors about a group (KIP-848); Kafka 4.4.0, as 4.1 to 4.4."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from assignors.broker.topic_ids import made_id, topic_id
from assignors.partition_list import PartitionList
from assignors.rules.members import members_by_id
from assignors.rules.target_assignment import from_record
from partitioning.java.hash_map import HashSet
from partitioning.topic_partition import TopicPartition

if TYPE_CHECKING:
    from assignors.group import Group
    from assignors.rules.target_assignment import TargetAssignment


class TopicIds(Collection[uuid.UUID]):
    """A member's subscription (Kafka's `TopicIds`): ids of topics, in the order of the HashSet of their names."""

    def __init__(self, names: HashSet[str], ids: Mapping[str, uuid.UUID]) -> None:
        self._names = names
        self._ids = dict.fromkeys(ids[name] for name in names if name in ids)

    def __iter__(self) -> Iterator[uuid.UUID]:
        return iter(self._ids)

    def __contains__(self, topic: object) -> bool:
        return topic in self._ids

    def __len__(self) -> int:
        """Quirk: topics that do not exist count, though iterating leaves them out."""
        return len(self._names)


class GroupSpec(NamedTuple):
    """A group as its assignors see it (`GroupSpecImpl` and `SubscribedTopicDescriberImpl`).

    Attributes:
        member_ids: the members, in the order of the coordinator's HashMap.
        is_homogeneous: whether all subscribe to the same topics; topics that do not exist count.
        subscribed_topic_ids: what each member subscribes to.
        num_partitions: how many partitions each topic has that exists.
        member_assignment: each member's target assignment so far. It is not to be changed.
        topic_names: names of those topics, and of all others that are in a target.
    """

    member_ids: list[str]
    is_homogeneous: bool
    subscribed_topic_ids: dict[str, TopicIds]
    num_partitions: dict[uuid.UUID, int]
    member_assignment: dict[str, TargetAssignment]
    topic_names: dict[uuid.UUID, str]

    @classmethod
    def of(cls, group: Group) -> GroupSpec:
        """The specification of a group; a topic without an id counts by one made from its name."""
        topics = [topic for topic in group.topics if topic.partitions]
        ids = {topic.name: uuid.UUID(bytes=topic_id(topic)) for topic in topics}
        subscriptions = {member.id: tuple(member.topics) for member in group.members}
        views = {names: TopicIds(HashSet(names), ids) for names in set(subscriptions.values())}
        # A record lists partitions in the order in which they were assigned, not in which they are reported.
        owned = {member.id: PartitionList.of(member.owned) for member in group.members}
        records = {member: each if each.assigned is None else each.assigned for member, each in owned.items()}
        targeted = {name for record in records.values() for name in record.names}
        all_ids = {name: uuid.UUID(bytes=made_id(name)) for name in targeted} | ids
        return cls(
            list(members_by_id(group)),
            len({frozenset(names) for names in views}) <= 1,
            {member: views[names] for member, names in subscriptions.items()},
            {ids[topic.name]: topic.partitions for topic in topics},
            {member: from_record(record, all_ids) for member, record in records.items()},
            {topic: name for name, topic in all_ids.items()},
        )

    def named(self, topic: uuid.UUID, partition: int) -> TopicPartition:
        """A partition by its topic's name."""
        return TopicPartition(self.topic_names[topic], partition)

    def lists(
        self, assignment: Mapping[str, Mapping[uuid.UUID, Iterable[int]]]
    ) -> dict[str, list[TopicPartition]]:
        """The partitions of each member, in the order in which its maps list them."""
        return {
            member: [
                self.named(topic, partition)
                for topic, partitions in target.items()
                for partition in partitions
            ]
            for member, target in assignment.items()
        }

    def beyond(self, member: str, topic: uuid.UUID, partition: int) -> str | None:
        """In words that a member's target has a partition which does not exist; None where it exists."""
        count = self.num_partitions[topic]
        if 0 <= partition < count:
            return None
        return (
            f"{self.named(topic, partition)}, which member {member!r} owns, does not exist "
            f"(the topic has {count} partitions)"
        )
