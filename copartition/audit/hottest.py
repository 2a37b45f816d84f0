"""Find the keys with the most records, counted batch by batch in bounded memory.

Counts are exact while all keys fit. Beyond that they follow Misra and Gries (1982), for a batch at a time
(Agarwal et al., Mergeable Summaries, 2012). If there are too many keys, the same number is subtracted from
every count, and keys at 0 or below are dropped. The sum of these numbers is how much too low a count may be.
A key is identified by 64 bits of hashes and its partition.
"""

from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from copartition.audit.topic_audit import HotKey, Records, concatenate, key_hashes, pick_records
from partitioning.hashing.murmur2 import murmur2_column
from partitioning.kit.columns import locate, runs_of

MOST = 1 << 14
"""The most keys that are counted at a time; a key in two partitions counts twice."""

OF_TOPIC = 10
OF_PARTITION = 3
"""The number of hottest keys in an audit: `OF_PARTITION` for each partition, `OF_TOPIC` for the topic."""

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_ROWS = 1 << 17
_NONE, _ROW_BITS, _LENGTH_AT, _HALF, _LENGTH, _ROW = map(np.uint64, (0, 17, 25, 32, 0x7F, _ROWS - 1))


class _Counts(NamedTuple):
    """The n keys that are counted, by ascending hash.

    Attributes:
        hashes: hash of each key and its partition, shape (n,).
        rows: the number of records of each key, shape (n,).
        examples: one record of each key, which has its bytes and its partition.
    """

    hashes: NDArray[np.uint64]
    rows: NDArray[np.int64]
    examples: Records


class HotKeys:
    """Counts the records of each key of a topic; if there are too many keys, only the hottest are kept.

    Args:
        most: the most keys that are counted at a time.

    Attributes:
        error: how many records more than its count a key may have; 0 means that all counts are exact.
    """

    def __init__(self, most: int = MOST) -> None:
        self.error = 0
        self._most = most
        self._counts: _Counts | None = None

    def add(self, records: Records, murmur2: NDArray[np.int32] | None = None) -> None:
        """Count these records; records without a key, or with an empty one, do not count.

        Args:
            records: any number; many are counted in parts of `_ROWS`.
            murmur2: the hashes of their keys if they are known, shape (n,), signed as in Kafka.
        """
        count, (offsets, data) = len(records.offset), (records.keys.offsets, records.keys.data)
        if count > _ROWS:
            for rows in np.array_split(np.arange(count), -(-count // _ROWS)):
                self.add(pick_records(records, rows))
            return
        # A mark has a hash of key and partition in its high bits, then the length and the last byte, and the
        # row in its low bits. One sort of marks brings equal keys together. Two keys that agree in all three
        # count as one.
        marks = (murmur2_column(offsets, data) if murmur2 is None else murmur2).view(np.uint32)
        # The shift keeps only the low half of the bits. The product spreads the partition number over these
        # bits. Without it, the low bits of hash and partition could cancel each other out, because a key's
        # partition follows from its hash. Then different keys would have the same mark.
        marks = (marks ^ records.partition.view(np.uint32) * _SPREAD) << _HALF
        marks |= (np.diff(offsets).astype(np.uint64) & _LENGTH) << _LENGTH_AT
        marks |= data[offsets[1:] - 1].astype(np.uint64) << _ROW_BITS if len(data) else _NONE
        marks |= np.arange(count, dtype=np.uint64)
        marks = marks[~records.keys.empty]
        marks.sort()
        starts, sizes = runs_of(marks >> _ROW_BITS)
        rows = self._cut(sizes)
        kept = np.flatnonzero(rows > 0)
        examples = pick_records(records, (marks[starts[kept]] & _ROW).astype(np.intp))
        hashes = key_hashes(examples.keys) ^ examples.partition.view(np.uint32) * _SPREAD
        order = np.argsort(hashes)
        fresh = _Counts(hashes[order], rows[kept[order]], pick_records(examples, order))
        self._counts = fresh if self._counts is None else self._merge(self._counts, fresh)

    def _cut(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the counts minus the least number with which at most `_most` counts stay above 0."""
        if len(rows) <= self._most:
            return rows
        # At most `_ROWS` is subtracted: only keys that were counted before can have greater counts, and these
        # are at most `_most` keys. So counts above `_ROWS` need not be told apart here.
        above = len(rows) - np.cumsum(np.bincount(np.minimum(rows, _ROWS)))
        cut = int(np.argmax(above <= self._most))
        self.error += cut
        return rows - cut

    def _merge(self, old: _Counts, fresh: _Counts) -> _Counts:
        """Return the sum of both counts, cut to at most `_most` keys; `old` is changed.

        Two keys are the same if their 64 bits of hash are equal. A key that is in both counts keeps its
        example from `old`.

        Args:
            old: the counts of earlier records.
            fresh: the counts of the new records.
        """
        at, present = locate(old.hashes, fresh.hashes)
        old.rows[at[present]] += fresh.rows[present]
        new = np.flatnonzero(~present)
        total = self._cut(np.concatenate([old.rows, fresh.rows[new]]))
        kept = np.flatnonzero(total > 0)
        hashes = np.concatenate([old.hashes, fresh.hashes[new]])
        order = kept[np.argsort(hashes[kept])]
        examples = old.examples
        if len(new) or len(kept) < len(total):
            both = concatenate([old.examples, pick_records(fresh.examples, new)])
            examples = pick_records(both, order)
        return _Counts(hashes[order], total[order], examples)

    def hottest(self) -> tuple[HotKey, ...]:
        """Return the hottest keys of the topic and of each partition, most records first.

        A key is left out if it has only one record, or if its count is not above `error`.
        """
        if self._counts is None:
            return ()
        _, rows, (partition, _, _, keys) = self._counts
        counted = (
            HotKey(key or b"", place, count)
            for key, place, count in zip(keys, partition.tolist(), rows.tolist(), strict=True)
            if count > max(self.error, 1)
        )
        hottest: list[HotKey] = []
        of_partition: Counter[int] = Counter()
        for key_count in sorted(
            counted, key=lambda key_count: (-key_count.rows, key_count.partition, key_count.key)
        ):
            if len(hottest) < OF_TOPIC or of_partition[key_count.partition] < OF_PARTITION:
                hottest.append(key_count)
                of_partition[key_count.partition] += 1
        return tuple(hottest)
