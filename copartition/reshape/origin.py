"""Name in a header the place that a copied record came from, and move a group's position by it.

The copy appends one header to each record: key `HEADER`, value `PARTITION:OFFSET` of the old topic in ASCII
digits, so that `kcat -f '%h'` and Kafka's console consumer show it to a person. A topic may be reshaped
twice: then a record has two of these headers, and the last one counts.

`new_position` is the rule by which a group's position moves. `spark_integration.reshaping` decides the same
on executors, and a test holds the two together.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from partitioning.errors import ReshapeError

HEADER = "copartition.origin"
"""Key of the header that each copied record has."""

_LONGEST = len("2147483647:9223372036854775807")
"""Bytes of the longest value: the greatest partition and the greatest offset that Kafka's fields hold."""


class Origins(NamedTuple):
    """Partition and offset in the old topic, one row for each record; both columns have the same length.

    Both are -1 for a record that was not copied.
    """

    partition: NDArray[np.int32]
    offset: NDArray[np.int64]


class NewPosition(NamedTuple):
    """Tell where a group goes on in one partition of the new topic."""

    offset: int
    """The first offset whose record is not read, or the partition's end if all are read."""
    repeats: int
    """Records from `offset` on that the group has read already and reads again; 0: the move is exact."""


def encode_origins(partition: NDArray[Any], offset: NDArray[Any]) -> list[bytes]:
    """Return the header's value for each record, in the order of the rows.

    Args:
        partition: partition in the old topic, of any integer type, at least 0.
        offset: offset in that partition, of the same length.

    Raises:
        ReshapeError: a partition or an offset is negative; the message names the row.
    """
    if (negative := np.flatnonzero((np.asarray(partition) < 0) | (np.asarray(offset) < 0))).size:
        row = int(negative[0])
        raise ReshapeError(
            f"row {row}: {int(partition[row])}:{int(offset[row])} is no place in a topic; a partition and "
            "an offset are 0 or more"
        )
    return [b"%d:%d" % place for place in zip(partition.tolist(), offset.tolist(), strict=True)]


def decode_origins(values: Sequence[bytes | None]) -> Origins:
    """Return the places that the header's values name, in their order.

    Args:
        values: value of the last `HEADER` of each record; None for a record without one.

    Returns:
        The places; -1 in both columns for a record without the header. The copy did not write such a record:
        it is one of a writer that has moved to the new topic already.

    Raises:
        ReshapeError: a value is not `PARTITION:OFFSET`; the message names the row.
    """
    places = np.full((len(values), 2), -1, np.int64)
    for row, value in enumerate(values):
        if value is None:
            continue
        partition, colon, offset = value.partition(b":")
        # `int` alone would take b" 1", b"+1" and b"1_0", which the copy never writes.
        if not (colon and partition.isdigit() and offset.isdigit() and len(value) <= _LONGEST):
            raise ReshapeError(
                f"row {row}: header {HEADER} is {value!r}; the copy writes PARTITION:OFFSET of the old "
                "topic, such as 3:1207"
            )
        places[row] = _within(row, int(partition), int(offset))
    return Origins(places[:, 0].astype(np.int32), places[:, 1])


def new_position(
    origins: Origins, offsets: NDArray[np.int64], end: int, commits: Mapping[int, int]
) -> NewPosition:
    """Return where a group goes on in one partition of the new topic, so that it misses nothing.

    A record is read if its old offset is below the group's commit of its old partition; one without an origin
    is not read. The group goes on at the first record that is not read. Whatever is read behind that record
    comes again.

    Args:
        origins: where the records of the new partition came from, in the order of their new offsets.
        offsets: their offsets in the new partition, ascending.
        end: end offset of the new partition, which is the answer if all records are read.
        commits: old partition -> the group's committed offset, the first one that it has not read.

    Raises:
        ReshapeError: a record comes from an old partition without a commit. Where the group would begin there
            is decided by `auto.offset.reset` of its members, which no broker shows, so it is not guessed.
    """
    unknown = sorted({*np.unique(origins.partition).tolist()} - {-1, *commits})
    if unknown:
        raise ReshapeError(
            f"the group has no commit for partition {unknown[0]} of the old topic, which has records; "
            "commit one, or say by kafka-consumer-groups.sh --reset-offsets where the group is to begin"
        )
    # One row more than there are partitions: -1 picks the last one, whose limit nothing is below.
    limits = np.full(max(commits, default=-1) + 2, -1, np.int64)
    limits[list(commits)] = list(commits.values())
    read = origins.offset < limits[origins.partition]
    if read.all():
        return NewPosition(end, 0)
    first = int(np.argmin(read))
    return NewPosition(int(offsets[first]), int(np.count_nonzero(read[first:])))


def _within(row: int, partition: int, offset: int) -> tuple[int, int]:
    """Return the place if Kafka's fields hold it: 32 bits with sign for a partition, 64 for an offset."""
    if partition > np.iinfo(np.int32).max or offset > np.iinfo(np.int64).max:
        raise ReshapeError(
            f"row {row}: header {HEADER} is {partition}:{offset}, more than Kafka's fields hold"
        )
    return partition, offset
