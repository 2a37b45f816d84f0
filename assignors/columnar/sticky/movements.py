"""Which partitions moved between which members, so that no two members swap partitions of a topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partitioning.java import HashSet
from partitioning.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Hashable

    from assignors.columnar.numbering import Numbering


class Movements:
    """The moves of one rebalance.

    Where a partition of a topic is to move from A to B after another one of that topic moved from B to A,
    that one goes back instead (KIP-54).
    """

    def __init__(self, numbering: Numbering) -> None:
        self._topics = numbering.topics
        self._starts: list[int] = numbering.starts.tolist()
        self._of_partition: dict[int, tuple[int, int]] = {}
        self._of_topic: dict[int, dict[tuple[int, int], HashSet[TopicPartition]]] = {}

    def instead_of(self, partition: int, topic: int, source: int, destination: int) -> int:
        """The partition to move in place of this one, or this one."""
        moves = self._of_topic.get(topic)
        if not moves:
            return partition
        if partition in self._of_partition:
            source = self._of_partition[partition][0]
        back = moves.get((destination, source))
        return partition if back is None else self._starts[topic] + next(iter(back)).partition

    def record(self, partition: int, topic: int, source: int, destination: int) -> None:
        """A partition moved; one that moved before counts as moved from where it was first."""
        moves = self._of_topic.setdefault(topic, {})
        name = TopicPartition(self._topics[topic], partition - self._starts[topic])
        pair = self._of_partition.pop(partition, None)
        if pair is not None:
            moves[pair].discard(name)
            if not moves[pair]:
                del moves[pair]
            source = pair[0]
            if source == destination:
                return
        self._of_partition[partition] = source, destination
        moves.setdefault((source, destination), HashSet()).add(name)

    def state(self) -> Hashable:
        """Everything that later answers depend on."""
        return tuple(
            (topic, pair, moved.state())
            for topic, moves in self._of_topic.items()
            for pair, moved in moves.items()
        )
