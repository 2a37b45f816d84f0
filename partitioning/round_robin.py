"""The strategy that writes to one partition after the other, whatever the keys (KIP-369)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from partitioning.errors import InvalidConfigError
from partitioning.interface import TopicLayout
from partitioning.java import hash_map_order, string_hash, topic_partition_hashes
from partitioning.strategy import UnkeyedStrategy, UnkeyedTopic, to_positive


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundRobin(UnkeyedStrategy):
    """One partition after the other, whatever the keys, as Java's RoundRobinPartitioner (KIP-369).

    Attributes:
        keyed: profile that places keyed records; None ignores keys.
        order: the order of the partitions. "metadata" is Java's order: that of the layout's `available`, or
            if that is None, the HashMap order of a client that knows only this topic, which is not ascending.
            "ascending" is the order of other clients: 0, 1, 2.
        double_advance: True: as in kafka-clients 2.4 to 3.9.1, the producer asks again for a record that
            opens a batch (`BatchAware`), so that a partition is skipped (KAFKA-9965).
        start: the counter's first value.
    """

    unkeyed_name: ClassVar[str] = "round-robin"
    order: Literal["metadata", "ascending"] = "metadata"
    double_advance: bool = False
    start: int = 0

    def __post_init__(self) -> None:
        UnkeyedStrategy.__post_init__(self)
        if self.order not in {"metadata", "ascending"}:
            raise InvalidConfigError(f"order is {self.order!r}; give 'metadata' or 'ascending'")

    def for_topic(self, topic: str) -> TopicRoundRobin:
        """Return a partitioner for one topic, with a counter of its own."""
        return (TopicRoundRobinAskedTwice if self.double_advance else TopicRoundRobin)(topic, self)


class TopicRoundRobin(UnkeyedTopic):
    """Holds the state of `RoundRobin` for one topic.

    Attributes:
        _counter: how many records were placed, plus `start`; it only grows. Java's counter is an int that
            wraps around, but `to_positive` uses only the low 31 bits, which are equal.
        _order: the partitions in the order in which they are chosen, int32, for the layout `_layout`. Layouts
            are compared by identity, because comparing two lists of partitions would take longer than placing
            a record.
    """

    def __init__(self, topic: str, settings: RoundRobin) -> None:
        super().__init__(settings.keyed)
        self._topic = topic
        self._ascending = settings.order == "ascending"
        self._counter = settings.start
        self._layout: TopicLayout | None = None
        self._order = np.empty(0, dtype=np.int32)

    def _next(self, layout: TopicLayout) -> int:
        order = self._order_of(layout)
        partition = order.item(to_positive(self._counter) % len(order))
        self._counter += 1
        return partition

    def _next_batch(self, count: int, layout: TopicLayout) -> NDArray[np.int32]:
        order = self._order_of(layout)
        # The counter is cut to 31 bits first, because NumPy cannot hold a Python integer of any size.
        counters = to_positive(self._counter) + np.arange(count)
        self._counter += count
        return order[to_positive(counters) % len(order)]

    def _order_of(self, layout: TopicLayout) -> NDArray[np.int32]:
        if layout is not self._layout:
            self._layout = layout
            # If no partition has a leader, the order is 0, 1, 2 ..., as in Java.
            self._order = np.array(layout.available or range(layout.partitions), dtype=np.int32)
            if self._ascending:
                self._order.sort()
            # If every partition has a leader and the layout gives no order, "metadata" stands for the order
            # of Java's HashMap.
            elif layout.available is None:
                self._order = metadata_order(self._topic, layout.partitions)
        return self._order


class TopicRoundRobinAskedTwice(TopicRoundRobin):
    """A `TopicRoundRobin` whose `partition` is called twice for a record that opens a batch."""

    def new_batch(self, partition: int, layout: TopicLayout) -> None:
        """Do nothing: the second call of `partition` for the record already skips a partition."""


@lru_cache(maxsize=256)
def metadata_order(topic: str, partitions: int) -> NDArray[np.int32]:
    """Return the partitions in the order of a Java client that knows no other topic: int32, read-only."""
    hashes = topic_partition_hashes(string_hash(topic), np.arange(partitions))
    order = hash_map_order(hashes, capacity=partitions).astype(np.int32)
    order.flags.writeable = False
    return order
