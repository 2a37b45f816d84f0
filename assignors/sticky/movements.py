"""Which partitions moved between which members, so that no two members swap partitions of a topic."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from partitioning.errors import TreeBinError
from partitioning.java import string_hashes, topic_partition_hashes

if TYPE_CHECKING:
    from collections.abc import Hashable

    from assignors.sticky.catalogue import Catalogue


class Movements:
    """The moves of one rebalance.

    Where a partition of a topic is to move from A to B after another one of that topic moved from B to A,
    that one goes back instead (KIP-54).
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._of_partition: dict[int, tuple[int, int]] = {}
        self._of_topic: dict[int, dict[tuple[int, int], _HashSet]] = {}
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
        moves.setdefault((source, destination), _HashSet()).add(partition, self._spread(partition, topic))

    def state(self) -> Hashable:
        """Everything that later answers depend on."""
        return tuple(
            (topic, pair, moved.state())
            for topic, moves in self._of_topic.items()
            for pair, moved in moves.items()
        )

    def _spread(self, partition: int, topic: int) -> int:
        """The hash of a partition as HashMap spreads it."""
        spreads = self._spreads.get(topic)
        start = int(self._catalogue.starts[topic])
        if spreads is None:
            numbers = np.arange(self._catalogue.counts[topic])
            hashes = topic_partition_hashes(string_hashes([self._catalogue.topics[topic]]), numbers)
            unsigned = hashes.view(np.uint32)
            spreads = self._spreads[topic] = (unsigned ^ (unsigned >> np.uint32(16))).tolist()
        return spreads[partition - start]


class _HashSet:
    """A `HashSet<TopicPartition>`, of which only the first element is ever asked for."""

    __slots__ = ("_bins", "_has_tree", "_length", "_spread")

    def __init__(self) -> None:
        self._spread: dict[int, int] = {}
        self._length = 16
        self._bins: Counter[int] = Counter()
        self._has_tree = False

    def __len__(self) -> int:
        return len(self._spread)

    def add(self, partition: int, spread: int) -> None:
        self._spread[partition] = spread
        bucket = spread & (self._length - 1)
        self._bins[bucket] += 1
        crowded = self._bins[bucket] > 8
        if crowded and self._length >= 64:
            self._has_tree = True
        elif crowded:
            self._grow()
        if len(self._spread) > self._length * 3 // 4:
            self._grow()

    def remove(self, partition: int) -> None:
        self._bins[self._spread.pop(partition) & (self._length - 1)] -= 1

    def first(self) -> int:
        """The element an iterator gives first: in the lowest bucket, the one that was added first."""
        mask = self._length - 1
        first = min(self._spread, key=lambda partition: self._spread[partition] & mask)
        if self._has_tree and self._bins[self._spread[first] & mask] > 1:
            raise TreeBinError(
                "over 8 moved partitions fall into one bin of a Java HashSet: Java makes the bin a red-black "
                "tree, whose order is not reproduced; change the number of partitions or members"
            )
        return first

    def state(self) -> Hashable:
        return self._length, tuple(self._spread)

    def _grow(self) -> None:
        self._length *= 2
        self._bins = Counter(spread & (self._length - 1) for spread in self._spread.values())
