"""Every partitioner, ours or a stranger's, has this interface."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from partitioning.errors import InvalidLayoutError
from partitioning.keys import KeyColumn, Keys
from partitioning.topic_partition import checked_partition_count, is_integer

NONE_AVAILABLE: Final = range(0)
"""`TopicLayout.available` where no partition has a leader; any other empty list is taken for a mistake.

>>> get_partitioner("java").for_topic("orders").partition(b"user-42", TopicLayout(12, NONE_AVAILABLE))
4
"""


@dataclass(frozen=True, slots=True)
class TopicLayout:
    """Describes a topic as a producer knows it.

    >>> TopicLayout(3, available=[0, 2])  # partition 1 has no leader
    TopicLayout(partitions=3, available=[0, 2], racks=None)

    Attributes:
        partitions: how many partitions it has, those without a leader included.
        available: partitions that have a leader, in the order of the client's metadata; None stands for all.
        racks: rack of each partition's leader, None if it has none; None if the cluster has no racks.

    Raises:
        InvalidPartitionCountError: `partitions` is outside 1 .. 2**31 - 1.
        InvalidLayoutError: `available` names a partition twice or one that does not exist, or is empty, or
            `racks` has another length than the topic.
    """

    partitions: int
    available: Sequence[int] | None = None
    racks: Sequence[str | None] | None = None

    def __post_init__(self) -> None:
        checked_partition_count(self.partitions)
        # By identity: an empty list that the caller made is most often metadata that has not arrived, and to
        # place records as if no partition had a leader would hide that.
        if self.available is not None and self.available is not NONE_AVAILABLE:
            if not len(self.available):
                raise InvalidLayoutError(
                    "`available` is empty; leave it out (None) if every partition has a leader, "
                    "give NONE_AVAILABLE if none has"
                )
            if len(set(self.available)) != len(self.available):
                raise InvalidLayoutError(f"`available` names a partition twice: {list(self.available)}")
            # Almost always all of them are plain ints; to look at the set of types is faster than to ask each
            # number.
            are_integers = set(map(type, self.available)) <= {int} or all(map(is_integer, self.available))
            if not (are_integers and 0 <= min(self.available) <= max(self.available) < self.partitions):
                raise InvalidLayoutError(
                    f"`available` is {list(self.available)}, but there are {self.partitions} partitions"
                )
        # One rack for each partition, leaderless ones included: the list is indexed by partition.
        if self.racks is not None and len(self.racks) != self.partitions:
            raise InvalidLayoutError(
                f"`racks` has {len(self.racks)} entries for {self.partitions} partitions; give one each"
            )


@runtime_checkable
class TopicPartitioner(Protocol):
    """Places the records of one topic; holds that topic's state, so it needs no lock.

    >>> orders: TopicPartitioner = get_partitioner("java").for_topic("orders")
    >>> orders.partition(b"user-42", TopicLayout(12))
    4
    """

    def partition(self, key: bytes | None, layout: TopicLayout) -> int:
        """Choose the partition of one record, 0 .. layout.partitions - 1."""

    def partition_batch(self, keys: Keys, layout: TopicLayout) -> NDArray[np.int32]:
        """Choose the partition of each record of a column: int32 of shape (n,), as n calls of `partition`."""


@runtime_checkable
class Partitioner(Protocol):
    """Chooses the partition of records.

    >>> isinstance(get_partitioner("java"), Partitioner), get_partitioner("java").name
    (True, 'java')
    """

    @property
    def name(self) -> str:
        """The partitioner's name in the registry."""

    def for_topic(self, topic: str) -> TopicPartitioner:
        """Return a partitioner for one topic, with state of its own."""


@runtime_checkable
class PlacesByKey(Protocol):
    """The power of a partitioner whose keyed records depend on key and partition count alone.

    `profile` of `partition_for_key`, `partition_batch` and `grow`, and `keyed` of partitioners take its name.

    >>> class ByCustomer:
    ...     def place_keys(self, keys, num_partitions): ...
    >>> isinstance(ByCustomer(), PlacesByKey)
    True
    """

    def place_keys(self, keys: KeyColumn, num_partitions: int) -> NDArray[np.int32]:
        """Return where `partition` puts these keys, whatever the topic, its state and the rest of the layout.

        Args:
            keys: n keys.
            num_partitions: how many partitions the topic has, 1 to 2**31 - 1.

        Returns:
            int32 array of shape (n,); -1 if the key, such as a null one, does not decide.
        """


@runtime_checkable
class BytesAware(Protocol):
    """The power of a topic partitioner that places unkeyed records by the bytes appended so far (KIP-794).

    >>> isinstance(get_partitioner("java").for_topic("orders"), BytesAware)
    True
    """

    def peek(self, layout: TopicLayout) -> int:
        """Return the partition that unkeyed records go to now."""

    def note_append(self, size: int, layout: TopicLayout, *, enable_switch: bool) -> None:
        """Note that an unkeyed record went to the current partition.

        Args:
            layout: the topic as it is now, for the choice of the next partition.
            size: bytes it added to the batches of that partition; 0 if only `enable_switch` is news.
            enable_switch: whether all batches of that partition are full or gone.
        """


@runtime_checkable
class LoadAware(Protocol):
    """The power of a topic partitioner that prefers partitions with short queues (KIP-794).

    >>> orders = get_partitioner("java", random=seeded(1)).for_topic("orders")
    >>> orders.update_load({0: 9, 1: 0, 2: 9}, TopicLayout(3))
    >>> orders.partition(None, TopicLayout(3))
    1
    """

    def update_load(self, queue_sizes: Mapping[int, int] | None, layout: TopicLayout) -> None:
        """The producer's queues have changed.

        Args:
            queue_sizes: how many batches wait for each partition that may be chosen, in the order of the
                producer's queues; None while the producer knows too little.
            layout: the topic as it is now.
        """


@runtime_checkable
class BatchAware(Protocol):
    """The power of a topic partitioner that the Java producer 2.4 to 3.9 asks again for a new batch.

    >>> isinstance(get_partitioner("sticky-per-batch").for_topic("orders"), BatchAware)
    True
    """

    def new_batch(self, partition: int, layout: TopicLayout) -> None:
        """A record opens a batch; the producer calls `partition` again for it.

        Args:
            partition: what `partition` answered for the record at first.
            layout: the topic as it is now.
        """


@runtime_checkable
class TimeAware(Protocol):
    """The power of a topic partitioner that moves on with time (librdkafka).

    >>> isinstance(get_partitioner("sticky-by-time").for_topic("orders"), TimeAware)
    True
    """

    def advance(self, now_ms: float) -> None:
        """Take the time of the records to come, on any clock that does not go back."""
