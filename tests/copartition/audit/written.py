"""Records that clients would have written."""

from collections.abc import Mapping

import numpy as np

from copartition.audit.conclusion import conclude
from copartition.audit.forms import FormCounts
from copartition.audit.tally import Tally
from copartition.audit.topic_audit import Coverage, Records, TopicAudit, pick_records
from partitioning import key_column, partition_batch
from partitioning.keys import KeyColumn

HAND = "hand"
"""Who chooses a partition by chance."""


def count_forms(keys: KeyColumn) -> FormCounts:
    """The counts of one column."""
    counts = FormCounts()
    counts.add(keys)
    return counts


class Written:
    """A topic that several clients write to, one after the other."""

    def __init__(self, num_partitions: int, seed: int = 1) -> None:
        self.num_partitions = num_partitions
        self._random = np.random.default_rng(seed)
        self._keys: list[bytes | None] = []
        self._places: list[int] = []

    def by(
        self, who: str | Mapping[str, float], num_partitions: int, rows: int, distinct: int = 50_000
    ) -> "Written":
        """Records of a profile, or of several at once, each with a share."""
        shares = {who: 1.0} if isinstance(who, str) else who
        keys = [b"user-%d" % number for number in self._random.integers(0, distinct, rows)]
        places = np.stack(
            [
                self._random.integers(0, self.num_partitions, rows)
                if name == HAND
                else partition_batch(keys, num_partitions, profile=name)
                for name in shares
            ]
        )
        chosen = self._random.choice(len(shares), rows, p=[*shares.values()])
        return self.at(keys, places[chosen, np.arange(rows)].tolist())

    def at(self, keys: list[bytes | None] | list[bytes], places: list[int]) -> "Written":
        """Records at these partitions."""
        self._keys.extend(keys)
        self._places.extend(places)
        return self

    def records(self) -> Records:
        """All of them, in the order of writing; written a millisecond after each other."""
        places = np.array(self._places, np.int32)
        offsets = np.zeros(len(places), np.int64)
        for partition in range(self.num_partitions):
            own = places == partition
            offsets[own] = np.arange(np.count_nonzero(own))
        times = 1000 + np.arange(len(places), dtype=np.int64)
        return Records(places, offsets, times, key_column(self._keys))

    def tally(self, *, batch: int = 3000, by_partition: bool = False, tally: Tally | None = None) -> Tally:
        """Counted in batches, as they were written or a partition after the other."""
        records = self.records()
        order = np.argsort(records.partition, kind="stable") if by_partition else np.arange(len(self._places))
        tally = Tally(self.num_partitions) if tally is None else tally
        for rows in np.split(order, range(batch, len(order), batch)):
            tally.add(pick_records(records, rows))
        return tally

    def audit(self, **how: int) -> TopicAudit:
        """The verdict."""
        return concluded(self.tally(**how))


def concluded(tally: Tally) -> TopicAudit:
    """The verdict of a tally."""
    coverage = Coverage("full", 0, 0, tuple(range(tally.num_partitions)), "every record")
    return conclude("orders", tally, coverage)


def turns(audit: TopicAudit) -> set[tuple[str, int]]:
    """The writers of the spans."""
    return {(span.writer.profile, span.writer.num_partitions) for span in audit.spans if span.writer}
