"""An ordered list of partitions that is two integer columns inside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, overload

import numpy as np

from partitioning.topic_partition import TopicPartition

if TYPE_CHECKING:
    from numpy.typing import NDArray

# `TopicPartition(topic, partition)` without the argument parsing.
_topic_partition: Callable[[tuple[str, int]], TopicPartition] = partial(tuple.__new__, TopicPartition)


class PartitionList(Sequence[TopicPartition]):
    """An immutable list of partitions: `topics[i]` indexes `names`, `partitions[i]` is the number.

    `TopicPartition` objects are made only for the elements somebody looks at, so a list of a million
    partitions costs eight megabytes and no Python objects.

    Attributes:
        names: topic names that `topics` indexes; may hold names that do not occur in this list.
        topics: int32 array of shape (n,).
        partitions: int32 array of shape (n,).
        assigned: the same partitions in the order in which they were assigned, where that is known to be
            another; None otherwise.
    """

    __slots__ = ("assigned", "names", "partitions", "topics")

    names: tuple[str, ...]
    topics: NDArray[np.int32]
    partitions: NDArray[np.int32]
    assigned: PartitionList | None

    def __init__(
        self,
        names: tuple[str, ...],
        topics: NDArray[np.int32],
        partitions: NDArray[np.int32],
        assigned: PartitionList | None = None,
    ) -> None:
        self.names = names
        self.topics = topics
        self.partitions = partitions
        self.assigned = assigned

    @classmethod
    def of(cls, partitions: Iterable[TopicPartition | tuple[str, int]]) -> PartitionList:
        """The same partitions as columns; a `PartitionList` comes back as it is."""
        if isinstance(partitions, PartitionList):
            return partitions
        index: dict[str, int] = {}
        pairs = [(index.setdefault(topic, len(index)), partition) for topic, partition in partitions]
        columns = np.array(pairs, dtype=np.int32).reshape(-1, 2)
        return cls(tuple(index), columns[:, 0].copy(), columns[:, 1].copy())

    def by_topic(self) -> PartitionList:
        """The partitions grouped by topic, topics in the order in which they first occur."""
        _, first, which = np.unique(self.topics, return_index=True, return_inverse=True)
        rows = np.argsort(first[which.reshape(-1)], kind="stable")
        return PartitionList(self.names, self.topics[rows], self.partitions[rows])

    def __len__(self) -> int:
        return len(self.topics)

    @overload
    def __getitem__(self, index: int) -> TopicPartition: ...
    @overload
    def __getitem__(self, index: slice) -> PartitionList: ...
    def __getitem__(self, index: int | slice) -> TopicPartition | PartitionList:
        if isinstance(index, slice):
            return PartitionList(self.names, self.topics[index], self.partitions[index])
        return TopicPartition(self.names[self.topics[index]], int(self.partitions[index]))

    def __iter__(self) -> Iterator[TopicPartition]:
        topics = map(self.names.__getitem__, self.topics.tolist())
        return map(_topic_partition, zip(topics, self.partitions.tolist(), strict=True))

    def __contains__(self, partition: object) -> bool:
        if not isinstance(partition, tuple) or len(partition) != 2:
            return False
        topic, number = partition
        try:
            row = self.names.index(topic)
        except ValueError:
            return False
        return bool(np.any((self.topics == row) & (self.partitions == number)))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PartitionList) and other.names == self.names:
            return np.array_equal(self.topics, other.topics) and np.array_equal(
                self.partitions, other.partitions
            )
        if isinstance(other, Sequence) and not isinstance(other, str | bytes):
            return len(self) == len(other) and all(
                mine == theirs for mine, theirs in zip(self, other, strict=True)
            )
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = [repr(tuple(partition)) for partition in self[:20]]
        if len(self) > 20:
            shown.append(f"... {len(self) - 20} more")
        return f"PartitionList([{', '.join(shown)}])"


NOTHING = PartitionList.of(())
"""A list without partitions."""
