"""The second judge: a plain consumer reads both topics whole, and compares them record by record.

It shares no code with `prove`, which asks Spark's executors. Topics are held as columns of numbers, 32 bytes
a record, so that ten million records fit beside Spark.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tests.spark_integration.reshaping.written import old_place
from tests.support.reading import each_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

OFFSET_BITS = 40
"""A place is `partition << OFFSET_BITS | offset`, so that places sort by partition and offset."""


def place_number(partition: int, offset: int) -> int:
    """Return the number of a place in a topic."""
    return partition << OFFSET_BITS | offset


@dataclass(frozen=True)
class Topic:
    """A topic's committed records, a row each, in the order of their places.

    Attributes:
        places: where each record is, ascending.
        contents: a 64-bit hash of each record's key, value and timestamp, the same for equal records in
            one process.
        keys: a 64-bit hash of the key.
        origins: the place in the old topic that the copy's header names; empty for the old topic itself.
    """

    places: NDArray[np.int64]
    contents: NDArray[np.int64]
    keys: NDArray[np.int64]
    origins: NDArray[np.int64]


def read_columns(servers: str, topic: str, *, copied: bool) -> Topic:
    """Read a topic to its end; `copied` if its records carry the header of a copy."""
    columns = places, contents, keys, origins = array("q"), array("q"), array("q"), array("q")
    for record in each_record(servers, topic):
        places.append(place_number(record.partition, record.offset))
        contents.append(hash((record.key, record.value, record.timestamp)))
        keys.append(hash(record.key))
        if copied:
            origins.append(place_number(*old_place(record)))
    order = np.argsort(np.frombuffer(places, np.int64))
    return Topic(*(np.frombuffer(column, np.int64)[order if column else []] for column in columns))


def compare(old: Topic, new: Topic) -> dict[str, int]:
    """Count the faults of a copy: records lost, doubled, changed, or behind a later one of their key.

    The order of a key is that of its records within one old partition.
    """
    at = np.minimum(np.searchsorted(old.places, new.origins), len(old.places) - 1)
    is_known = old.places[at] == new.origins
    # Rows of one key and old partition stand together, in the order in which the new topic has them.
    order = np.lexsort((new.places, new.origins >> OFFSET_BITS, new.keys))
    keys, origins = new.keys[order], new.origins[order]
    same_unit = (keys[1:] == keys[:-1]) & (origins[1:] >> OFFSET_BITS == origins[:-1] >> OFFSET_BITS)
    return {
        "lost": len(np.setdiff1d(old.places, new.origins)),
        "doubled": len(new.origins) - len(np.unique(new.origins)),
        "changed": int((~is_known | (old.contents[at] != new.contents)).sum()),
        "out_of_order": int((same_unit & (origins[1:] < origins[:-1])).sum()),
    }


def compare_reads(old: Topic, commits: Mapping[int, int], reads: Iterable[tuple[int, int]]) -> dict[str, int]:
    """Count what a group that went on in the new topic never read, and what it read twice.

    Args:
        old: the old topic.
        commits: the group's offset in each old partition when it stopped.
        reads: old partition and offset of each record that the group read in the new topic.
    """
    read = np.array([place_number(*place) for place in reads], np.int64)
    offsets = np.zeros(max(commits) + 1, np.int64)
    offsets[list(commits)] = list(commits.values())
    is_before = (old.places & (1 << OFFSET_BITS) - 1) < offsets[old.places >> OFFSET_BITS]
    twice = np.isin(read, old.places[is_before]).sum() + len(read) - len(np.unique(read))
    return {
        "lag": int((~is_before).sum()),
        "missed": len(np.setdiff1d(old.places[~is_before], read)),
        "repeats": int(twice),
    }
