"""Jump consistent hash (Lamping and Veach, 2014) as a partitioner.

Growing a topic from N to M partitions moves only the share 1 - N/M of the keys, the least any rule can move
and stay even. No Kafka client places records so by itself: every producer of the topic has to use it.
"""

import mmh3
import numpy as np
from numpy.typing import NDArray

from partitioning import KeyColumn, Keys, TopicLayout, key_column

_MULTIPLIER = 2862933555777941757


class JumpPartitioner:
    """Places a record by jump consistent hash of its key; no key counts as an empty one."""

    name = "jump"

    def for_topic(self, topic: str) -> "JumpTopic":  # noqa: ARG002 - every topic has the same rule
        """A rule without state."""
        return JumpTopic(self)

    def place_keys(self, keys: KeyColumn, num_partitions: int) -> NDArray[np.int32]:
        """The partition of every key, int32 of shape (n,): all of them decide."""
        hashes = [mmh3.hash64(key or b"", signed=False)[0] for key in keys]
        state = np.array(hashes, np.uint64)
        bucket = np.zeros(len(state), np.int64)
        jump = np.zeros(len(state), np.float64)
        moving = np.arange(len(state))
        while len(moving):
            bucket[moving] = jump[moving].astype(np.int64)
            state[moving] = state[moving] * np.uint64(_MULTIPLIER) + np.uint64(1)
            step = (state[moving] >> np.uint64(33)).astype(np.float64) + 1
            jump[moving] = np.floor((bucket[moving] + 1) * (2.0**31 / step))
            moving = moving[jump[moving] < num_partitions]
        return bucket.astype(np.int32)


class JumpTopic:
    """Jump consistent hash for one topic."""

    def __init__(self, rule: JumpPartitioner) -> None:
        self._rule = rule

    def partition(self, key: bytes | None, layout: TopicLayout) -> int:
        """The partition of one record."""
        return int(self.partition_batch([key], layout)[0])

    def partition_batch(self, keys: Keys, layout: TopicLayout) -> NDArray[np.int32]:
        """The partition of every record, int32 of shape (n,)."""
        return self._rule.place_keys(key_column(keys), layout.partitions)
