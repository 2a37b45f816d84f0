"""An ordered list of partitions that is stored as two integer columns.

An answer may have a hundred thousand partitions of a thousand members. Here it is one pair of columns, and
each member's list is a slice of it. So a partition needs no object, and a member needs one small object.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby, repeat
from operator import attrgetter, is_not, itemgetter
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from partitioning.errors import InvalidGroupError
from partitioning.java import utf16_key
from partitioning.kit.columns import inverse, range_numbers
from partitioning.kit.limits import MAX_PARTITION, is_integer
from partitioning.topic_partition import TopicPartition

# This makes a `TopicPartition` of a pair. The class itself would parse its arguments, which takes longer.
_topic_partition: Callable[[tuple[str, int]], TopicPartition] = partial(tuple.__new__, TopicPartition)


class PartitionColumns(NamedTuple):
    """The partitions of one list, or of several lists one after the other, as columns.

    Attributes:
        names: topic names; some of them may not occur in the columns.
        topics: the topic of each partition, an index into `names`; int32 of shape (n,).
        partitions: the number of each partition; int32 of shape (n,).
    """

    names: tuple[str, ...]
    topics: NDArray[np.int32]
    partitions: NDArray[np.int32]


def in_java_order(names: Sequence[str]) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Return the names in the order of `String.compareTo`, and the place of each given name in that order.

    Args:
        names: topic names, each once.
    """
    order = sorted(range(len(names)), key=lambda row: utf16_key(names[row]))
    return tuple(names[row] for row in order), inverse(np.array(order, np.intp)).astype(np.int32)


def check_numbers(partitions: Sequence[Any], owner: str | None = None) -> None:
    """Raise InvalidGroupError if an entry is not a pair of a topic and an integer.

    Without this check NumPy would convert True, 0.4 and "1" to integers.

    Args:
        partitions: pairs of a topic and a number, before they become columns.
        owner: the id of their member, for the message; None if there is none.
    """
    if not isinstance(partitions, Sequence):  # an iterator would be used up by the first reader
        raise InvalidGroupError(f"member {owner!r} owns {partitions!r}: give a list of partitions")
    try:
        # This checks the whole list in C. Entries are checked one by one only if a number is not a plain int.
        if set(map(type, map(itemgetter(1), partitions))) <= {int}:
            return
    except (TypeError, IndexError):
        pass  # the entry is named below
    whose = "" if owner is None else f", which member {owner!r} owns,"
    for partition in partitions:
        if not (isinstance(partition, tuple | list) and len(partition) == 2 and is_integer(partition[1])):
            raise InvalidGroupError(f"{partition!r}{whose} is no partition: give a topic's name and an int")


class PartitionList(Sequence[TopicPartition]):
    """An immutable list of partitions: element i is `(names[topics[i]], partitions[i])`.

    `TopicPartition` objects are made only for elements that are read, so a list of a million partitions takes
    eight megabytes and no Python objects. The lists of many members may be slices of the same columns.

    >>> partitions = PartitionList.of([("orders", 1), ("clicks", 0)])
    >>> partitions[0], partitions.partitions.tolist()
    (TopicPartition(topic='orders', partition=1), [1, 0])

    Attributes:
        columns: the columns that hold the list, and perhaps other lists: this one has rows `start` to
            `stop - 1`.
        start: the first row of the list.
        stop: the row after the last row of the list.
        assigned: the same partitions in assignment order, if it is known and differs from this list's; else
            None.
    """

    __slots__ = ("assigned", "columns", "start", "stop")

    columns: PartitionColumns
    start: int
    stop: int
    assigned: "PartitionList | None"

    def __init__(
        self,
        names: tuple[str, ...],
        topics: NDArray[np.int32],
        partitions: NDArray[np.int32],
        assigned: "PartitionList | None" = None,
    ) -> None:
        self.columns = PartitionColumns(names, topics, partitions)
        self.start, self.stop = 0, len(topics)
        self.assigned = assigned

    @classmethod
    def part(
        cls, columns: PartitionColumns, start: int, stop: int, assigned: "PartitionList | None" = None
    ) -> "PartitionList":
        """Return the rows from `start` to before `stop` of some columns as a list; they are not copied."""
        # `__init__` would make new columns, so it is not called.
        part = object.__new__(cls)
        part.columns, part.start, part.stop, part.assigned = columns, start, stop, assigned
        return part

    @classmethod
    def parts(
        cls,
        columns: PartitionColumns,
        bounds: Sequence[int],
        assigned: "Sequence[PartitionList] | None" = None,
    ) -> "list[PartitionList]":
        """Return the lists that some columns consist of: one from each bound to the next, not copied.

        Args:
            columns: the partitions of all lists.
            bounds: the first row of each list, and last the number of rows.
            assigned: each list in assignment order; None if that is unknown.
        """
        lists = list(map(object.__new__, repeat(cls, len(bounds) - 1)))
        memories = repeat(None) if assigned is None else assigned
        for partitions, start, stop, memory in zip(lists, bounds, bounds[1:], memories, strict=False):
            partitions.columns, partitions.start, partitions.stop, partitions.assigned = (
                columns,
                start,
                stop,
                memory,
            )
        return lists

    @property
    def names(self) -> tuple[str, ...]:
        """Topic names, to which `topics` refers; some of them may not occur in this list."""
        return self.columns.names

    @property
    def topics(self) -> NDArray[np.int32]:
        """The topic of each partition, an index into `names`; int32 of shape (n,)."""
        return self.columns.topics[self.start : self.stop]

    @property
    def partitions(self) -> NDArray[np.int32]:
        """The number of each partition; int32 of shape (n,)."""
        return self.columns.partitions[self.start : self.stop]

    @property
    def as_assigned(self) -> "PartitionList":
        """The same partitions in the order in which they were assigned; this list if that is unknown."""
        return self if self.assigned is None else self.assigned

    def __reduce__(self) -> tuple[Any, ...]:
        return PartitionList, (self.names, self.topics, self.partitions, self.assigned)

    @classmethod
    def of(cls, partitions: Iterable[TopicPartition | tuple[str, int]]) -> "PartitionList":
        """Return these partitions as a `PartitionList`; if they are one already, return the same object.

        Raises:
            InvalidGroupError: a partition number is not an integer (True is not one), or does not fit 32
                bits.
        """
        if isinstance(partitions, PartitionList):
            return partitions
        listed = [*partitions]
        check_numbers(listed)
        rows: dict[str, int] = {}
        # Topics are numbered in the order in which they first occur.
        pairs = [(rows.setdefault(topic, len(rows)), partition) for topic, partition in listed]
        try:
            topics, numbers = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
            # `astype` cuts numbers to 32 bits without an error: partition 2**32 would become partition 0.
            fits = np.array_equal(numbers, numbers.astype(np.int32))
        except OverflowError:
            fits = False
        if not fits:
            row, number = next(pair for pair in pairs if not -(2**31) <= pair[1] < 2**31)
            raise InvalidGroupError(
                f"{[*rows][row]}-{number} is no partition: its number does not fit 32 bits; "
                f"give 0 to {MAX_PARTITION}"
            )
        return cls(tuple(rows), topics.astype(np.int32), numbers.astype(np.int32))

    def by_topic(self) -> "PartitionList":
        """Return the partitions grouped by topic, topics in the order in which they first occur."""
        _, first, which = np.unique(self.topics, return_index=True, return_inverse=True)
        rows = np.argsort(first[which.reshape(-1)], kind="stable")
        return PartitionList(self.names, self.topics[rows], self.partitions[rows])

    def __len__(self) -> int:
        return self.stop - self.start

    @overload
    def __getitem__(self, index: int) -> TopicPartition: ...
    @overload
    def __getitem__(self, index: slice) -> "PartitionList": ...
    def __getitem__(self, index: int | slice) -> "TopicPartition | PartitionList":
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
        # Lists with different `names` can still be equal. They are compared partition by partition.
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


def as_lists(lists: Iterable[Sequence[TopicPartition | tuple[str, int]]]) -> list[PartitionList]:
    """Return each list as a `PartitionList`; raise InvalidGroupError as `PartitionList.of` does.

    Almost all lists of a group are of this type already, or empty. For these `PartitionList.of` is not
    called, because the calls would cost more than all the rest of an assignment.
    """
    return [
        partition_list
        if type(partition_list) is PartitionList
        else PartitionList.of(partition_list)
        if partition_list
        else NOTHING
        for partition_list in lists
    ]


def join_lists(lists: Sequence[PartitionList]) -> tuple[PartitionColumns, NDArray[np.intp]]:
    """Join lists, one after the other.

    Args:
        lists: slices of the same columns, or of different ones.

    Returns:
        The partitions of all lists in order, and the size of each list, including empty ones.
    """
    starts = np.array([partition_list.start for partition_list in lists], np.intp)
    sizes = np.array([partition_list.stop for partition_list in lists], np.intp) - starts
    filled = np.flatnonzero(sizes)
    if len(filled) < len(lists):
        lists, starts = [lists[row] for row in filled.tolist()], starts[filled]
    columns = [partition_list.columns for partition_list in lists]
    # If all lists are slices of the same columns, as in an assignor's answer, no name has to be looked up.
    if columns and not any(map(is_not, columns, repeat(columns[0]))):
        names, topics, partitions = columns[0]
        rows = (
            range_numbers(starts, sizes[filled]) if len(lists) > 1 else slice(lists[0].start, lists[0].stop)
        )
        return PartitionColumns(names, topics[rows], partitions[rows]), sizes
    index: dict[str, int] = {}
    joined = [np.empty(0, np.int32)]
    for names, run in groupby(lists, attrgetter("names")):  # comparing a tuple with itself is cheap
        # Neighbouring lists with the same `names` are translated to the joint names together.
        codes = np.array([index.setdefault(name, len(index)) for name in names], np.int32)
        joined.append(codes[np.concatenate([partition_list.topics for partition_list in run])])
    partitions = np.concatenate(
        [np.empty(0, np.int32), *(partition_list.partitions for partition_list in lists)]
    )
    return PartitionColumns(tuple(index), np.concatenate(joined), partitions), sizes
