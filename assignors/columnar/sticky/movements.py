"""Which partitions moved between which members, so that no two members swap partitions of a topic."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from partitioning.java import string_hashes, topic_partition_hashes
from partitioning.java.hash_codes import spread
from partitioning.java.hash_map import HashTable
from partitioning.java.sizes import DEFAULT_LENGTH

if TYPE_CHECKING:
    from collections.abc import Hashable

    from assignors.columnar.numbering import Numbering


class Movements:
    """The moves of one rebalance.

    Where a partition of a topic is to move from A to B after another one of that topic moved from B to A,
    that one goes back instead (KIP-54).
    """

    def __init__(self, numbering: Numbering) -> None:
        self._numbering = numbering
        self._of_partition: dict[int, tuple[int, int]] = {}
        self._of_topic: dict[int, dict[tuple[int, int], HashTable[int]]] = {}
        self._spreads: dict[int, list[int]] = {}

    def instead_of(self, partition: int, topic: int, source: int, destination: int) -> int:
        """The partition to move in place of this one, or this one."""
        moves = self._of_topic.get(topic)
        if not moves:
            return partition
        if partition in self._of_partition:
            source = self._of_partition[partition][0]
        back = moves.get((destination, source))
        return partition if back is None else back.first()

    def record(self, partition: int, topic: int, source: int, destination: int) -> None:
        """A partition moved; one that moved before counts as moved from where it was first."""
        moves = self._of_topic.setdefault(topic, {})
        pair = self._of_partition.pop(partition, None)
        if pair is not None:
            moves[pair].remove(partition)
            if not moves[pair]:
                del moves[pair]
            source = pair[0]
            if source == destination:
                return
        self._of_partition[partition] = source, destination
        if (source, destination) not in moves:
            moves[source, destination] = self._new_set(topic)
        moves[source, destination].add(partition)

    def state(self) -> Hashable:
        """Everything that later answers depend on."""
        return tuple(
            (topic, pair, moved.state())
            for topic, moves in self._of_topic.items()
            for pair, moved in moves.items()
        )

    def _new_set(self, topic: int) -> HashTable[int]:
        """A HashSet of partitions of one topic, which all have different hashes."""
        return HashTable(DEFAULT_LENGTH, partial(self._spread, topic), lambda _: ())

    def _spread(self, topic: int, partition: int) -> int:
        """The hash of a partition as HashMap spreads it."""
        spreads = self._spreads.get(topic)
        start = int(self._numbering.starts[topic])
        if spreads is None:
            numbers = np.arange(self._numbering.counts[topic])
            hashes = topic_partition_hashes(string_hashes([self._numbering.topics[topic]]), numbers)
            spreads = self._spreads[topic] = spread(hashes).tolist()
        return spreads[partition - start]
