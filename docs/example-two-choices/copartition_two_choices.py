"""Partial Key Grouping (Nasir et al., ICDE 2015, arXiv 1504.00788) as a partitioner: two partitions a key.

A record goes to the one of its key's two partitions that this producer has sent fewer records to. A hot key
so fills two partitions by halves instead of one, and other keys keep away from both. What that costs:

- Records of a key are in two partitions, and in order within each of them only. A consumer that needs the
  sequence of a key, or a state for it, has to bring both together; a count or a sum is added up from two.
- A compacted topic keeps the last record of a key in both partitions, and one of them is out of date.
- Topics that are written like this are not co-partitioned with any other.
- A producer counts what it has sent itself, and begins at zero when it starts or the topic grows.
"""

import mmh3
import numpy as np
from numpy.typing import NDArray

from partitioning import Keys, TopicLayout, key_column, partition_batch

_SEED = 0x9747B28C
"""Any seed that gives hashes of their own; all producers of a topic need the same."""


class TwoChoicesPartitioner:
    """Places a record in the emptier of its key's two partitions; without a key, in the emptiest of all."""

    name = "two-choices"

    def for_topic(self, topic: str) -> "TwoChoicesTopic":  # noqa: ARG002 - every topic has the same rule
        """The counts of one topic."""
        return TwoChoicesTopic()


class TwoChoicesTopic:
    """How many records of one topic went to each partition."""

    def __init__(self) -> None:
        self._sent: list[int] = []

    def partition(self, key: bytes | None, layout: TopicLayout) -> int:
        """The partition of one record."""
        return int(self.partition_batch([key], layout)[0])

    def partition_batch(self, keys: Keys, layout: TopicLayout) -> NDArray[np.int32]:
        """The partition of every record, int32 of shape (n,): each is chosen with those before it counted."""
        column, partitions = key_column(keys), layout.partitions
        if len(self._sent) != partitions:
            # A partition that is new to the counts would get all records of its keys until it has caught up.
            self._sent = [0] * partitions
        sent = self._sent
        placed = np.empty(len(column), np.int32)
        # The first choice is where Java's default partitioner places the key, the second always another one.
        for row, (key, first) in enumerate(
            zip(column, partition_batch(column, partitions, profile="java").tolist(), strict=True)
        ):
            if key is None:
                chosen = min(layout.available or range(partitions), key=sent.__getitem__)
            elif partitions == 1:
                chosen = 0
            else:
                step = 1 + mmh3.hash(key, _SEED, signed=False) % (partitions - 1)
                chosen = min(first, (first + step) % partitions, key=sent.__getitem__)
            sent[chosen] += 1
            placed[row] = chosen
        return placed
