"""Names a partition by topic and number, and checks partition counts."""

import operator
from typing import NamedTuple, SupportsIndex

from partitioning.errors import InvalidPartitionCountError

MAX_PARTITIONS = 2**31 - 1


class TopicPartition(NamedTuple):
    """A topic name and a partition number, ordered as a tuple.

    >>> str(TopicPartition("orders", 0))
    'orders-0'
    """

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def checked_partition_count(num_partitions: SupportsIndex) -> int:
    """Return the count as an int.

    Raises:
        InvalidPartitionCountError: the count is not an integer within 1 .. 2**31 - 1, or is True.
    """
    try:
        # This accepts NumPy's integers and refuses floats, because 12.0 is more often a mistake than a count.
        count = operator.index(num_partitions)
    except TypeError:
        count = 0
    if not 1 <= count <= MAX_PARTITIONS or num_partitions is True:
        raise InvalidPartitionCountError(
            f"num_partitions is {num_partitions!r}; give the topic's partition count, 1 to {MAX_PARTITIONS}"
        )
    return count
