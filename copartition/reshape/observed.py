"""Hold the facts for a plan to reshape a topic: the topic, its records and the groups that read it.

`observing` reads these values from a cluster. The modules that decide get them as arguments and ask nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assignors.state import GroupState
from copartition.audit.topic_audit import Records, TopicAudit, pick_keys
from copartition.check.verdict import KeyProof
from copartition.kit.evidence import Missing
from partitioning.keys import KeyColumn, concatenate_columns, key_column
from partitioning.placement import UNKEYED, partition_batch

GROUP_KINDS = ("classic", "consumer", "share", "streams")
"""The four kinds of groups, as ListGroups names their types."""

Bounds: TypeAlias = Mapping[int, tuple[int, int]]
"""Partition -> (offset of its first record, offset after its last one)."""

OFFSETS_TOPIC = "__consumer_offsets"
"""The topic to which groups commit offsets; a transaction that commits offsets writes a partition of it."""

_NEAR = 1_000
"""Two records of a partition that are this many offsets apart or more come from two spots of a sample.

The offsets between them were not read, so they are not counted as a gap.
"""

MOST_ROWS = 1 << 18
"""The most records whose keys are kept in order to count which of them move: 262,144."""


@dataclass(frozen=True, slots=True)
class Moves:
    """Counts of sampled records, by where the rule of the new topic puts them.

    Attributes:
        keyed: the number of records with a key by which the rule places them.
        keyless: the number of records that the rule does not place by key.
        moved: how many of the keyed records get a partition with another number than that of the partition
            they are in.
        added: how many of the keyed records get a partition with a number that the old topic does not have.
        largest: the number of keyed records in the fullest new partition.
    """

    keyed: int
    keyless: int
    moved: int
    added: int
    largest: int

    @property
    def share(self) -> float:
        """Share of the keyed records that move; 0 if there are none."""
        return self.moved / self.keyed if self.keyed else 0.0

    @property
    def added_share(self) -> float:
        """Share of the keyed records that go to partitions the old topic lacks; 0 without keyed records."""
        return self.added / self.keyed if self.keyed else 0.0


class KeySample:
    """Keeps keys of records and their partitions, evenly thinned so that at most `MOST_ROWS` are kept.

    Every `_step`-th record is kept, in the order in which they are read. When there are too many, every
    second one is dropped and the step doubles, so each record that was read is kept with the same
    probability.
    """

    def __init__(self, most: int = MOST_ROWS) -> None:
        self._most, self._step, self._read = most, 1, 0
        self._keys: KeyColumn = key_column([])
        self._partition: NDArray[np.int32] = np.empty(0, np.int32)
        # The number of offsets without a record between records that follow each other in a partition.
        self.gaps = 0

    def add(self, records: Records) -> None:
        """Count gaps of a batch and keep some of its keys."""
        # Offsets between two consecutive records of a partition hold no record to read: they are markers of
        # transactions, aborted records, or records that compaction has removed.
        along = (np.diff(records.partition) == 0) & (np.diff(records.offset) > 0)
        near = along & (np.diff(records.offset) < _NEAR)
        self.gaps += int((np.diff(records.offset)[near] - 1).sum())
        rows = np.arange(-self._read % self._step, len(records.offset), self._step)
        self._read += len(records.offset)
        self._keys = concatenate_columns([self._keys, pick_keys(records.keys, rows)])
        self._partition = np.concatenate([self._partition, records.partition[rows]])
        while len(self._partition) > self._most:
            self._step *= 2
            # The first kept row is record 0 of the reading, so every second row is still a multiple of the
            # step.
            kept = np.arange(0, len(self._partition), 2)
            self._keys, self._partition = pick_keys(self._keys, kept), self._partition[kept]

    def moves(self, before: int, after: int, profile: str) -> Moves:
        """Return what the rule of `profile` over `after` partitions does to the kept records.

        A record's present partition is read from the record itself and not computed. So a record that is not
        where the old topic's rule puts it is counted by the partition in which it is.

        Args:
            before: partition count of the old topic.
            after: partition count of the new one.
            profile: a name of `partitioning.profiles`, or a plug-in that places by key alone.
        """
        # All kept keys are hashed in one call; -1 marks a key that the rule does not place.
        placed = partition_batch(self._keys, after, profile=profile)
        keyed = placed != UNKEYED
        home = placed[keyed]
        return Moves(
            keyed=len(home),
            keyless=int(np.count_nonzero(~keyed)),
            moved=int(np.count_nonzero(home != self._partition[keyed])),
            added=int(np.count_nonzero(home >= before)),
            largest=int(np.bincount(home, minlength=1).max()),
        )

    @property
    def examples(self) -> list[bytes]:
        """A few of the kept keys, none of them null."""
        few = pick_keys(self._keys, np.arange(0, len(self._partition), max(1, len(self._partition) // 200)))
        return [key for key in few if key is not None]


class ReadingGroup(NamedTuple):
    """A group that reads the topic.

    Attributes:
        name: group id.
        kind: one of `GROUP_KINDS`.
        state: its members as the coordinator has them; None for share and Streams groups.
        commits: partition -> committed offset of this topic; for a share group its start offsets.
        lag: records of the topic that it has not committed; None if a partition with records has no commit.
    """

    name: str
    kind: str
    state: GroupState | None
    commits: Mapping[int, int]
    lag: int | None

    @property
    def members(self) -> int | None:
        """The number of the group's members; None if its state was not read."""
        return None if self.state is None else len(self.state.members)


def waiting_records(bounds: Bounds, commits: Mapping[int, int]) -> int | None:
    """Return how many records of a topic a group has not committed; None if it lacks a needed commit.

    A partition without records needs no commit. If a commit lies before the first record, counting begins at
    the first record, because the records before it are deleted.

    >>> waiting_records({0: (0, 10), 1: (5, 5)}, {0: 7}), waiting_records({0: (0, 10)}, {})
    (3, None)
    """
    waiting = 0
    for partition, (first, end) in bounds.items():
        if first < end and partition not in commits:
            return None
        waiting += max(end - max(commits.get(partition, end), first), 0)
    return waiting


class OpenTransaction(NamedTuple):
    """A transaction that was open when the cluster was asked, and that writes the topic or commits offsets.

    Attributes:
        id: its transactional id.
        topics: the topics that it writes, sorted; `OFFSETS_TOPIC` is among them if it commits offsets.
        offsets_partitions: the partitions of `OFFSETS_TOPIC` that it writes, ascending. Each of them stores
            the commits of many groups.
    """

    id: str
    topics: tuple[str, ...]
    offsets_partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ObservedTopic:
    """Holds a topic as a cluster showed it, read once.

    Attributes:
        name: the topic's name.
        replicas: the replicas of each partition; the smallest number if partitions differ.
        settings: its settings by name, those of the cluster included.
        own_settings: names of the settings that are set on the topic itself, sorted.
        bounds: partition -> (first offset, end offset), as `read_uncommitted` has them.
        audit: who wrote it.
        sample: keys of its records.
        scattered: its keys, and which of them lie in several of its partitions.
        written_per_s: offsets by which its partitions grew a second while it was read, all together.
        looked_s: the seconds over which that was measured.
        transactions: transactions that were open at one of two looks, and write the topic or commit offsets.
        groups: the groups that read it, sorted by name.
        others: topic -> partition count, of the other topics that this user may see.
        target_partitions: partition count of the target if it exists already; None if it does not.
        missing: the groups that could not be read, and the coordinators of transactions that did not answer.
    """

    name: str
    replicas: int
    settings: Mapping[str, str]
    own_settings: tuple[str, ...]
    bounds: Bounds
    audit: TopicAudit
    sample: KeySample
    scattered: KeyProof
    written_per_s: float
    looked_s: float
    transactions: tuple[OpenTransaction, ...]
    groups: tuple[ReadingGroup, ...]
    others: Mapping[str, int]
    target_partitions: int | None
    missing: tuple[Missing, ...] = ()

    @property
    def partitions(self) -> int:
        """The partition count."""
        return self.audit.num_partitions

    @property
    def records(self) -> int:
        """The offsets from the start to the end of each partition, summed: an upper bound of the records."""
        return sum(end - first for first, end in self.bounds.values())

    @property
    def compacted(self) -> bool:
        """True if `cleanup.policy` has "compact"."""
        return "compact" in self.settings.get("cleanup.policy", "").split(",")
