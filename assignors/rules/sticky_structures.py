"""The data structures of the sticky rule.

`StickyGroup`, `RackInfo` and `PotentialConsumers` do not change while partitions are assigned.
`CurrentAssignment` with its `SortedSubscriptions`, and `PartitionMovements`, change.

In Kafka these are `AbstractStickyAssignor` and its inner classes of clients 4.4.0 (the same in 4.1 to 4.4).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence, Sized
from heapq import heapify, heappush, heapreplace
from typing import Any, NamedTuple

from assignors.group import Group, Member, Topic
from assignors.interface import Recorder
from assignors.rules.group_spec import (
    members_by_id,
    partitions_per_topic,
    racks_of_partitions,
    use_rack_aware_assignment,
)
from partitioning.java import utf16_key
from partitioning.java.hash_map import DEFAULT_LENGTH, HashMap, HashSet
from partitioning.topic_partition import TopicPartition

NO_RACKS: frozenset[str] = frozenset()

# An entry has a consumer's number of partitions and the consumer's place by id. It is outdated once the
# number of partitions changes.
Entry = tuple[int, int]
Heap = list[Entry]


class StickyGroup:
    """Holds what a leader knows of its group; no step changes it.

    Attributes:
        record: called with the reason of each decision.
        subscriptions: the members by id, in the order of Java's map.
        partitions_per_topic: the partitions of each subscribed topic that exists, ascending.
        rack_info: the racks of consumers and partitions.
    """

    def __init__(self, group: Group, record: Recorder) -> None:
        self.record = record
        self.subscriptions = members_by_id(group)
        self.partitions_per_topic = {  # nothing depends on the order of this dict, so it is no HashMap
            topic: [TopicPartition(topic, number) for number in range(count)]
            for topic, count in partitions_per_topic(group).items()
        }
        topics = (topic for topic in group.topics if topic.name in self.partitions_per_topic)
        self.rack_info = RackInfo(topics, group.members)


class RackInfo:
    """Holds which consumers are near which partitions (KIP-881); Java's `RackInfo`.

    Both attributes are empty if racks do not change the answer.

    Attributes:
        consumer_racks: the rack of each consumer that has one, by member id.
        partition_racks: the racks of each partition's replicas.
    """

    def __init__(self, topics: Iterable[Topic], members: Iterable[Member]) -> None:
        self.consumer_racks: dict[str, str] = {member.id: member.rack for member in members if member.rack}
        self.partition_racks: dict[TopicPartition, frozenset[str]] = {}
        if self.consumer_racks:
            self.partition_racks = {
                TopicPartition(topic.name, number): racks
                for topic in topics
                for number, racks in enumerate(racks_of_partitions(topic))
            }
        if not use_rack_aware_assignment(self.consumer_racks.values(), self.partition_racks.values()):
            self.consumer_racks, self.partition_racks = {}, {}
        self._consumers_in_rack = Counter(self.consumer_racks.values())

    def is_near(self, consumer: str, partition: TopicPartition) -> bool:
        """Return whether the consumer has a rack and the partition has a replica there."""
        rack = self.consumer_racks.get(consumer)
        return rack is not None and rack in self.partition_racks.get(partition, NO_RACKS)

    def racks_mismatch(self, consumer: str, partition: TopicPartition) -> bool:
        """Return whether the consumer has a rack but the partition has no replica there."""
        return consumer in self.consumer_racks and not self.is_near(consumer, partition)

    def sort_partitions_by_rack_consumers(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Return the partitions, those with the fewest consumers near them first; ties stay in order."""

        def num_consumers(partition: TopicPartition) -> int:
            """Return how many consumers are near a partition."""
            racks = self.partition_racks.get(partition, NO_RACKS)
            return sum(self._consumers_in_rack[rack] for rack in racks)

        return sorted(partitions, key=num_consumers) if self.consumer_racks else partitions

    def next_rack_consumer(
        self, partition: TopicPartition, consumers: Sequence[str], first_index: int
    ) -> int | None:
        """Return the index of the first consumer near the partition, searching round from `first_index`.

        None if no consumer is near the partition.
        """
        for i in range(len(consumers)):
            index = (first_index + i) % len(consumers)
            if self.is_near(consumers[index], partition):
                return index
        return None


class PotentialConsumers:
    """Holds which consumers can get which topics if subscriptions differ; no step changes it.

    Topics that do not exist are left out. Quirk: a topic that a member names twice counts twice in both maps.

    Attributes:
        topic_to_all_potential_consumers: the subscribers of each topic, in the order of Java's map.
        consumer_to_all_potential_topics: the topics of each consumer, in the order of its subscription.
        max_assignment_size: how many partitions each consumer can have at most.
    """

    def __init__(self, group: StickyGroup) -> None:
        self._partitions_per_topic = group.partitions_per_topic
        self.topic_to_all_potential_consumers: dict[str, list[str]] = {
            topic: [] for topic in group.partitions_per_topic
        }
        self.consumer_to_all_potential_topics: HashMap[str, list[str]] = HashMap(
            capacity=len(group.subscriptions)
        )
        for consumer, subscription in group.subscriptions.items():
            topics = [topic for topic in subscription.topics if topic in group.partitions_per_topic]
            self.consumer_to_all_potential_topics[consumer] = topics
            for topic in topics:
                self.topic_to_all_potential_consumers[topic].append(consumer)
        self.max_assignment_size = {
            consumer: self._get_max_assignment_size(topics)
            for consumer, topics in self.consumer_to_all_potential_topics.items()
        }

    def can_participate(self, partition: TopicPartition) -> bool:
        """Return whether the partition can move: its topic has at least two potential consumers."""
        return len(self.topic_to_all_potential_consumers[partition.topic]) >= 2

    def _get_max_assignment_size(self, all_subscribed_topics: Sequence[str]) -> int:
        """Return how many partitions the topics of a consumer have together."""
        topics: Iterable[str] = all_subscribed_topics
        if len(all_subscribed_topics) == len(self._partitions_per_topic):
            # Quirk: this is also true if one topic is named twice and another one is missing.
            topics = self._partitions_per_topic
        return sum(len(self._partitions_per_topic[topic]) for topic in topics)


class CurrentAssignment:
    """Holds the assignment while partitions are given out and move.

    Attributes:
        partitions: the partitions of each consumer; at first those that it may keep. If two consumers have
            the same partition, the order of this map decides which of them counts.
        consumer_of: the consumer of each partition; if two consumers have the partition, the one that got it
            last.
        order: the consumers, those with the fewest partitions first. It exists after the first `sort`.
    """

    order: SortedSubscriptions

    def __init__(self, partitions: HashMap[str, list[TopicPartition]]) -> None:
        self.partitions = partitions
        self.consumer_of: dict[TopicPartition, str] = {}

    def size(self, consumer: str) -> int:
        """Return how many partitions the consumer has."""
        return len(self.partitions[consumer])

    def count(self) -> int:
        """Return how many partitions all consumers have."""
        return sum(map(len, self.partitions.values()))

    def keep(self, consumer: str, kept: list[TopicPartition]) -> None:
        """Let the consumer keep these of its partitions and give up the others."""
        self.partitions[consumer][:] = kept
        self.consumer_of.update(dict.fromkeys(kept, consumer))

    def sort(self, potential: PotentialConsumers, rack_info: RackInfo) -> None:
        """Sort the consumers in `partitions`; call this again after consumers were added or removed."""
        self.order = SortedSubscriptions(
            self.partitions, potential.topic_to_all_potential_consumers, rack_info.consumer_racks
        )

    def add(self, partition: TopicPartition, consumer: str) -> None:
        """Give a partition to a consumer, and update `order`."""
        partitions = self.partitions[consumer]
        partitions.append(partition)
        self.order.update_size(consumer, len(partitions) - 1)
        self.consumer_of[partition] = consumer

    def move(self, partition: TopicPartition, new_consumer: str) -> None:
        """Give a partition to another consumer, and update `order`."""
        old_consumer = self.consumer_of[partition]
        source, target = self.partitions[old_consumer], self.partitions[new_consumer]
        source.remove(partition)
        target.append(partition)
        self.consumer_of[partition] = new_consumer
        self.order.update_size(new_consumer, len(target) - 1)
        self.order.update_size(old_consumer, len(source) + 1)

    def balance_score(self) -> int:
        """Return the sum of the differences in size of all pairs of consumers (`getBalanceScore`)."""
        return balance_score(map(len, self.partitions.values()))

    def copy(self) -> CurrentAssignment:
        """Return a copy that later moves do not change."""
        lists = {consumer: list(partitions) for consumer, partitions in self.partitions.items()}
        copy = CurrentAssignment(HashMap(lists, capacity=DEFAULT_LENGTH))
        copy.consumer_of = dict(self.consumer_of)
        return copy

    def revert_to(self, before: CurrentAssignment) -> None:
        """Return to the partitions of `before`.

        As in Java, the map is cleared and filled again, which can change its order.
        """
        for consumer in list(self.partitions):
            del self.partitions[consumer]
        self.put_back(before.partitions)

    def put_back(self, partitions: Mapping[str, list[TopicPartition]]) -> None:
        """Put consumers back into the map, with their partitions."""
        for consumer, its_partitions in partitions.items():
            self.partitions[consumer] = its_partitions


class SortedSubscriptions:
    """Consumers in ascending order of their number of partitions, then of their id.

    This is Java's `sortedCurrentSubscriptions` with its `SubscriptionComparator`. Java searches a TreeSet
    from its start for a consumer that subscribes to a topic. Here the subscribers of a topic are in heaps,
    one for each rack; topics with the same subscribers share their heaps.

    An entry of a heap is (size, place by id). If a size shrinks, a new entry is pushed. If a size grows, the
    old entry stays and is renewed when it comes to the top. So each consumer always has an entry that is not
    larger than its true entry, and the first true entry that comes to the top is the least.

    Attributes:
        _consumers: the consumer ids in Java's order of text. A consumer's place is its index here.
        _sizes: the sizes of all consumers, ascending.
        _heaps: for each topic, pairs (rack, heap of the subscribers in that rack); None stands for no rack.
        _heaps_with: for each consumer, the heaps that contain it.
    """

    def __init__(
        self,
        current_assignment: Mapping[str, Sized],
        topic_to_all_potential_consumers: Mapping[str, Iterable[str]],
        consumer_racks: Mapping[str, str],
    ) -> None:
        self._current_assignment = current_assignment
        self._consumers = sorted(current_assignment, key=utf16_key)
        self._places = {consumer: place for place, consumer in enumerate(self._consumers)}
        self._sizes = sorted(map(len, current_assignment.values()))
        self._heaps_with: dict[str, list[Heap]] = {consumer: [] for consumer in self._consumers}
        shared: dict[tuple[str, ...], list[tuple[str | None, Heap]]] = {}
        self._heaps: dict[str, list[tuple[str | None, Heap]]] = {}
        for topic, potential_consumers in topic_to_all_potential_consumers.items():
            consumers = tuple(potential_consumers)
            if consumers not in shared:
                shared[consumers] = self._heaps_by_rack(consumers, consumer_racks)
            self._heaps[topic] = shared[consumers]

    @property
    def difference(self) -> int:
        """The difference in size between the last consumer and the first one."""
        return self._sizes[-1] - self._sizes[0]

    def ascending(self) -> list[str]:
        """Return the consumers in ascending order of their number of partitions, then of their id."""
        return sorted(self._consumers, key=lambda consumer: len(self._current_assignment[consumer]))

    def first(self, topic: str, racks: Container[str] | None = None) -> str | None:
        """Return the first subscriber of the topic, or None if there is none.

        If `racks` is given, only subscribers in one of these racks or without a rack are considered.
        """
        entries = [
            self._first(heap)
            for rack, heap in self._heaps[topic]
            if racks is None or rack is None or rack in racks
        ]
        return self._consumers[min(entries)[1]] if entries else None

    def update_size(self, consumer: str, before: int) -> None:
        """Update the order after a consumer's size has changed; `before` is its size before that."""
        entry = self._entry(consumer)
        del self._sizes[bisect_left(self._sizes, before)]
        insort(self._sizes, entry[0])
        # A smaller size needs a new entry at once. A larger one is noticed when the old entry comes to the
        # top.
        if entry[0] < before:
            for heap in self._heaps_with[consumer]:
                heappush(heap, entry)

    def _heaps_by_rack(
        self, consumers: Iterable[str], consumer_racks: Mapping[str, str]
    ) -> list[tuple[str | None, Heap]]:
        """Return a heap for each rack of these consumers; consumers that take no part are left out."""
        heaps: dict[str | None, Heap] = {}
        for consumer in consumers:
            if consumer in self._places:
                heap = heaps.setdefault(consumer_racks.get(consumer), [])
                heap.append(self._entry(consumer))
                self._heaps_with[consumer].append(heap)
        for heap in heaps.values():
            heapify(heap)
        return list(heaps.items())

    def _entry(self, consumer: str) -> Entry:
        """Return the true entry of a consumer."""
        return len(self._current_assignment[consumer]), self._places[consumer]

    def _first(self, heap: Heap) -> Entry:
        """Return the least entry of a heap, after outdated entries at the top are renewed."""
        while True:
            entry = self._entry(self._consumers[heap[0][1]])
            if heap[0] == entry:
                return entry
            heapreplace(heap, entry)


def balance_score(sizes: Iterable[int]) -> int:
    """Return the sum of the differences in size of all pairs of consumers.

    In ascending order, a size is added once for each size before it, and subtracted once for each size after
    it. Quirk: Java counts in 32 bits, so the sum can overflow.
    """
    ascending = sorted(sizes)
    score = sum(size * (place - (len(ascending) - 1 - place)) for place, size in enumerate(ascending))
    return (score + 2**31) % 2**32 - 2**31


Consumer = str | int
"""A consumer's id (in rules), or the number that stands for it (in columns)."""


class ConsumerPair(NamedTuple):
    """Holds the consumer that loses a partition by a move, and the consumer that gets the partition."""

    source: Consumer
    destination: Consumer


class PartitionMovements:
    """Records the moves, so that no two members exchange partitions of a topic (Java's `PartitionMovements`).

    Java only looks up single keys in its maps, so dicts replace them here. But it takes the first element of
    its sets of partitions, so these are HashSets.
    """

    def __init__(self) -> None:
        self._partition_movements: dict[TopicPartition, ConsumerPair] = {}
        self._partition_movements_by_topic: dict[str, dict[ConsumerPair, HashSet[TopicPartition]]] = {}

    def move_partition(
        self, partition: TopicPartition, old_consumer: Consumer, new_consumer: Consumer
    ) -> None:
        """Record a move; if the partition moved before, the move starts at its first consumer."""
        first_consumer = old_consumer
        if partition in self._partition_movements:
            first_consumer = self._remove_movement_record(partition).source
            if first_consumer == new_consumer:
                return  # the partition is back at its first consumer
        self._add_movement_record(partition, ConsumerPair(first_consumer, new_consumer))

    def actual_partition_to_be_moved(
        self, partition: TopicPartition, old_consumer: Consumer, new_consumer: Consumer
    ) -> TopicPartition:
        """Return this partition, or one of its topic that moved the opposite way and can move back instead.

        Quirk: if this partition moved before, its first consumer is taken in place of `old_consumer`. So the
        partition that moves back can be one that `old_consumer` does not have.
        """
        if partition in self._partition_movements:
            old_consumer = self._partition_movements[partition].source
        moves = self._partition_movements_by_topic.get(partition.topic, {})
        reverse_pair = ConsumerPair(new_consumer, old_consumer)
        return next(iter(moves[reverse_pair])) if reverse_pair in moves else partition

    def state(self) -> Hashable:
        """Return a value that is equal for two states if all later answers are equal."""
        return frozenset(
            (topic, pair, partitions.state())
            for topic, moves in self._partition_movements_by_topic.items()
            for pair, partitions in moves.items()
        )

    def _add_movement_record(self, partition: TopicPartition, pair: ConsumerPair) -> None:
        """Record that a partition moved between two consumers."""
        self._partition_movements[partition] = pair
        moves = self._partition_movements_by_topic.setdefault(partition.topic, {})
        moves.setdefault(pair, HashSet()).add(partition)

    def _remove_movement_record(self, partition: TopicPartition) -> ConsumerPair:
        """Remove the record of a partition's move, and return the two consumers of the move."""
        pair = self._partition_movements.pop(partition)
        moves = self._partition_movements_by_topic[partition.topic]
        moves[pair].discard(partition)
        if not moves[pair]:
            del moves[pair]
        return pair


# Both builders use the two functions below. In Java they are `AbstractAssignmentBuilder` and
# `getUnassignedPartitions`.
def all_topic_partitions(group: StickyGroup, key: Callable[[str], Any]) -> list[TopicPartition]:
    """Return the partitions of all topics, topic by topic; topics are sorted by `key`."""
    counts = group.partitions_per_topic
    return [partition for topic in sorted(counts, key=key) for partition in counts[topic]]


def unassigned_partitions(
    sorted_all_partitions: Iterable[TopicPartition], sorted_assigned_partitions: Iterable[TopicPartition]
) -> list[TopicPartition]:
    """Return the partitions without an owner, by walking over all and over the assigned ones side by side.

    Quirk: the walk waits for the next assigned partition. If that partition does not exist, the walk never
    meets it. Then all later partitions count as unassigned, and partitions that a member keeps are assigned
    once more.
    """
    assigned = iter(sorted_assigned_partitions)
    next_assigned = next(assigned, None)
    unassigned = []
    for partition in sorted_all_partitions:
        if partition == next_assigned:
            next_assigned = next(assigned, None)
        else:
            unassigned.append(partition)
    return unassigned
