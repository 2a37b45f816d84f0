"""Defines the interface of all partitioners, both built-in ones and plug-ins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from partitioning.errors import InvalidLayoutError
from partitioning.keys import KeyColumn, Keys
from partitioning.kit.limits import is_integer
from partitioning.topic_partition import checked_partition_count

NONE_AVAILABLE: Final = range(0)
"""The value of `TopicLayout.available` if no partition has a leader; another empty list is refused.

>>> get_partitioner("java").for_topic("orders").partition(b"user-42", TopicLayout(12, NONE_AVAILABLE))
4
"""


@dataclass(frozen=True, slots=True)
class TopicLayout:
    """Describes a topic as a producer knows it.

    >>> TopicLayout(3, available=[0, 2])  # partition 1 has no leader
    TopicLayout(partitions=3, available=[0, 2], racks=None)

    Attributes:
        partitions: the partition count, including partitions without a leader.
        available: the numbers of the partitions with a leader, in the order of the client's metadata; None
            if every partition has a leader.
        racks: the rack of each partition's leader, in the order of partition numbers, with None for an
            unknown rack; None in place of the list if the cluster has no racks.

    Raises:
        InvalidPartitionCountError: `partitions` is outside 1 .. 2**31 - 1.
        InvalidLayoutError: `available` is empty but is not NONE_AVAILABLE, has a partition twice, or has one
            that does not exist; or the length of `racks` is not the partition count.
    """

    partitions: int
    available: Sequence[int] | None = None
    racks: Sequence[str | None] | None = None

    def __post_init__(self) -> None:
        checked_partition_count(self.partitions)
        # `available` is compared with NONE_AVAILABLE by identity, because any other empty list mostly means
        # that the client's metadata has not arrived yet. Placing records as if no partition had a leader
        # would hide this mistake.
        if self.available is not None and self.available is not NONE_AVAILABLE:
            if not len(self.available):
                raise InvalidLayoutError(
                    "`available` is empty; leave it out (None) if every partition has a leader, "
                    "give NONE_AVAILABLE if none has"
                )
            if len(set(self.available)) != len(self.available):
                raise InvalidLayoutError(f"`available` names a partition twice: {list(self.available)}")
            # Almost always all numbers are plain ints. Then comparing the set of types is faster than
            # checking each number.
            are_integers = set(map(type, self.available)) <= {int} or all(map(is_integer, self.available))
            if not (are_integers and 0 <= min(self.available) <= max(self.available) < self.partitions):
                raise InvalidLayoutError(
                    f"`available` is {list(self.available)}, but there are {self.partitions} partitions"
                )
        # `racks` is indexed by partition number, so partitions without a leader need an entry, too.
        if self.racks is not None and len(self.racks) != self.partitions:
            raise InvalidLayoutError(
                f"`racks` has {len(self.racks)} entries for {self.partitions} partitions; give one each"
            )


@runtime_checkable
class TopicPartitioner(Protocol):
    """Places the records of one topic, and holds the state for that topic.

    It needs no lock, because it is called by one thread at a time.

    >>> orders: TopicPartitioner = get_partitioner("java").for_topic("orders")
    >>> orders.partition(b"user-42", TopicLayout(12))
    4
    """

    def partition(self, key: bytes | None, layout: TopicLayout) -> int:
        """Choose the partition of one record, 0 .. layout.partitions - 1."""

    def partition_batch(self, keys: Keys, layout: TopicLayout) -> NDArray[np.int32]:
        """Choose the partition of each record of a column, int32 of shape (n,), as n `partition` calls do."""


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
    """Describes a partitioner that places keyed records by key and partition count alone.

    The name of such a partitioner can be the `profile` of `partition_for_key`, `partition_batch` and `grow`,
    and the `keyed` of other partitioners.

    >>> class ByCustomer:
    ...     def place_keys(self, keys, num_partitions): ...
    >>> isinstance(ByCustomer(), PlacesByKey)
    True
    """

    def place_keys(self, keys: KeyColumn, num_partitions: int) -> NDArray[np.int32]:
        """Return the partition into which `partition` puts each key, in any topic and any state.

        Args:
            keys: n keys.
            num_partitions: the partition count of the topic, 1 to 2**31 - 1.

        Returns:
            int32 array of shape (n,); -1 for a key that does not determine the partition, such as a null key.
        """


@runtime_checkable
class BytesAware(Protocol):
    """Describes a topic partitioner that places unkeyed records by the bytes appended so far (KIP-794).

    >>> isinstance(get_partitioner("java").for_topic("orders"), BytesAware)
    True
    """

    def peek(self, layout: TopicLayout) -> int:
        """Return the partition to which unkeyed records go now."""

    def note_append(self, size: int, layout: TopicLayout, *, enable_switch: bool) -> None:
        """Count an unkeyed record that went to the current partition.

        Args:
            size: the bytes that it added to the batches of that partition; 0 if only `enable_switch` is new.
            layout: the topic as it is now, for the choice of the next partition.
            enable_switch: True if all batches of that partition are full or gone.
        """


@runtime_checkable
class LoadAware(Protocol):
    """Describes a topic partitioner that prefers partitions with short queues (KIP-794).

    >>> orders = get_partitioner("java", random=seeded_source(1)).for_topic("orders")
    >>> orders.update_load({0: 9, 1: 0, 2: 9}, TopicLayout(3))
    >>> orders.partition(None, TopicLayout(3))
    1
    """

    def update_load(self, queue_sizes: Mapping[int, int] | None, layout: TopicLayout) -> None:
        """Take the present lengths of the producer's queues.

        Args:
            queue_sizes: partition -> the number of batches that wait for it, for each partition that may be
                chosen, in the order of the producer's queues; None if the producer does not know enough yet.
            layout: the topic as it is now.
        """


@runtime_checkable
class BatchAware(Protocol):
    """Describes a topic partitioner that must be asked again for a record that opens a batch.

    The Java producer asks again in versions 2.4 to 3.9.

    >>> isinstance(get_partitioner("sticky-per-batch").for_topic("orders"), BatchAware)
    True
    """

    def new_batch(self, partition: int, layout: TopicLayout) -> None:
        """Handle the start of a batch. The producer then calls `partition` again for its first record.

        Args:
            partition: the partition that the first call of `partition` returned for the record.
            layout: the topic as it is now.
        """


@runtime_checkable
class TimeAware(Protocol):
    """Describes a topic partitioner whose choice depends on the time (librdkafka).

    >>> isinstance(get_partitioner("sticky-by-time").for_topic("orders"), TimeAware)
    True
    """

    def advance(self, now_ms: float) -> None:
        """Set the time of the next records, in milliseconds on any clock that does not go back."""
