"""Count a topic's records under the writers that explain them, and find these writers while counting.

Records pass through three places. The latest ones stay in `_recent`, in case a writer is found that explains
some of them better. Those that no writer explains then wait in `_pending`, until there are enough to find a
writer, or too many to keep. All others are not kept, only counted in `blocks` and `groups`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from copartition.audit.ranges import Blocks, count_hits, merge_blocks, widen_blocks
from copartition.audit.search import Trials, find_writer, hashes_of, keys_needed, rule_of, surprise
from copartition.audit.topic_audit import Records, Writer, concatenate, pick_records
from partitioning.hashing import HashName
from partitioning.hashing.modulo import partitions_of
from partitioning.keys import KeyColumn

MOST_BLOCKS = 1 << 14

MOST_PENDING = 1 << 12
MOST_PENDING_BYTES = 1 << 24
"""The most unexplained records, or bytes of their keys, that are kept until a writer of them is found."""

FIRST_TRY = 32
"""A writer is looked for when this many records are unexplained; if none is found, again at twice as many."""

MOST_WRITERS = 48

BEHIND = 0.9
"""A rival that explains less than this share of the best writer's records is dropped."""

RECENT = 1 << 12
RECENT_BYTES = 1 << 24
"""The latest records are kept and not counted yet: this many of them, or this many bytes of their keys.

When a new writer begins, it is found only after a while, and until then other writers explain some of its
records by chance. Those that are still kept are counted for the new writer, too.
"""

_PROOF = 64
"""The most distinct keys that are kept as evidence for a group of writers; more are never needed."""


@dataclass
class WriterGroup:
    """Writers that were found together: the best one and its rivals.

    Attributes:
        writers: indexes into `Tally.writers`.
        from_records: whether unexplained records led to these writers. False if the group is the rule of
            another group with the topic's own count, and is counted because it may have written, too.
        rows: keyed records that one of its writers explains and no writer of an earlier group does.
        proof: hashes of distinct keys that one of its writers explains, ascending, at most `_PROOF`.
    """

    writers: list[int]
    from_records: bool = True
    rows: int = 0
    proof: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))


class _Batch(NamedTuple):
    """Records, the writers that explain each record, and hashes of the keys.

    Attributes:
        records: n records.
        hits: whether each writer of the tally explains each record, shape (n, writers); False without a key.
        hashes: name of a function -> hash of each key, shape (n,); functions that cannot hash them are
            missing.
    """

    records: Records
    hits: NDArray[np.bool_]
    hashes: dict[HashName, NDArray[np.int32]]

    @property
    def unexplained(self) -> NDArray[np.bool_]:
        """True for each record that has a key and that no writer explains; bool of shape (n,)."""
        return ~(self.records.keys.empty | self.hits.any(axis=1))

    def take(self, rows: NDArray[np.intp]) -> _Batch:
        """Return the part of the batch with these rows."""
        hashes = {name: column[rows] for name, column in self.hashes.items()}
        return _Batch(pick_records(self.records, rows), self.hits[rows], hashes)


class Tally:
    """The count of one topic's records so far, in bounded memory; it can be dumped, loaded and merged.

    The writers that explain the records are found on the way: whenever enough records turn up that no known
    writer explains, another writer is looked for. Parts of a topic may be counted separately, as by tasks of
    a cluster. Then the tally of each part should start with the `writers` found in a sample of all
    partitions. The records of low partitions alone do not show that a topic grew to a multiple of its count.

    Indexes into `writers` are the candidates of `blocks`. If writers are added or dropped, `blocks`, the hits
    of `_recent` and `groups` must change together. A block spans at most 2 ** `_shift` offsets.

    Args:
        num_partitions: the topic's partition count.
        profiles: profiles whose rules are tried, as in `Trials`.
        counts: partition counts that are tried, as in `Trials`.

    Attributes:
        trials: the writers that are tried.
        writers: the writers found so far.
        groups: writers that were found together, in the order in which they were found.
        blocks: counts by ranges of offsets, for each writer.
        in_vain: the most distinct keys for which a writer was looked for without success.
    """

    def __init__(
        self,
        num_partitions: int,
        *,
        profiles: Iterable[str] | None = None,
        counts: Iterable[int] | None = None,
    ) -> None:
        self.trials = Trials(num_partitions, profiles, counts)
        self.writers: list[Writer] = []
        self.groups: list[WriterGroup] = []
        none, empty = np.zeros(0, np.int64), np.zeros((0, 0), np.int64)
        # There is no block yet, and no writer.
        self.blocks = Blocks(none, none, none, none, none, empty, empty, empty, none, none)
        self._shift = 0
        self._recent: list[_Batch] = []
        self._pending: list[Records] = []
        self._unexplained = 0
        self._next_try = FIRST_TRY
        self.in_vain = 0

    @property
    def num_partitions(self) -> int:
        """The topic's partition count."""
        return self.trials.num_partitions

    @property
    def highest_partition(self) -> int:
        """The highest partition that a record was added for; 0 without records."""
        waiting = [int(records.partition.max()) for records in self._uncounted_records()]
        return max([int(self.blocks.partition.max(initial=0)), *waiting])

    def add(self, records: Records) -> Mapping[HashName, NDArray[np.int32]]:
        """Count these records, and return the hashes of their keys that were computed, by name.

        It is faster to add many records at a time.

        Args:
            records: in the order in which they were read.
        """
        if not len(records.offset):
            return {}
        batch = self._batch(records)
        self._recent.append(batch)
        self._unexplained += int(np.count_nonzero(batch.unexplained))
        # This is a loop because records of two new writers may have come in one batch.
        while self._unexplained >= self._next_try and self._look():
            pass
        # The oldest batch is counted as soon as the batches after it are enough by themselves.
        while _many([batch.records for batch in self._recent[1:]], RECENT, RECENT_BYTES):
            self._pass(self._recent.pop(0))
        self._forget()
        return batch.hashes

    def merge(self, other: Tally) -> None:
        """Add the counts of another tally, of other records of the same topic.

        Writers get common indexes: those that both know keep the indexes of this tally, and new ones are
        appended. Groups that share a writer become one.

        Args:
            other: a tally of the same topic with the same trials.
        """
        # -1 marks a writer that is new here, and gets its index below.
        numbers = [self.writers.index(writer) if writer in self.writers else -1 for writer in other.writers]
        for group in other.groups:
            shared = [numbers[writer] for writer in group.writers if numbers[writer] >= 0]
            new = [writer for writer in group.writers if numbers[writer] < 0]
            mine = next((group for group in self.groups if {*shared} & {*group.writers}), None)
            if mine is None:
                mine = WriterGroup([], group.from_records)
                self.groups.append(mine)
            for number in new:
                numbers[number] = len(self.writers)
                self.writers.append(other.writers[number])
                mine.writers.append(numbers[number])
            mine.from_records |= group.from_records
            mine.rows += group.rows
            mine.proof = np.unique(np.concatenate([mine.proof, group.proof]))[:_PROOF]
        width = len(self.writers)
        own = widen_blocks(self.blocks, range(self.blocks.explained.shape[1]), width)
        theirs = widen_blocks(other.blocks, numbers, width)
        self.blocks, self._shift = merge_blocks([own, theirs], max(self._shift, other._shift), MOST_BLOCKS)
        self.in_vain = max(self.in_vain, other.in_vain)
        self._next_try = min(self._next_try, other._next_try)
        # Each tally may know a writer that explains uncounted records of the other one. So the uncounted
        # records of both are added again, now that the writers of both are known.
        held = [*self._uncounted_records(), *other._uncounted_records()]
        self._recent, self._pending, self._unexplained = [], [], 0
        for records in held:
            self.add(records)

    def empty_copy(self) -> Tally:
        """Return a tally that knows the same writers and has counted nothing.

        It is the start for a part of the topic that is counted separately.
        """
        tally = Tally(self.num_partitions, profiles=self.trials.profiles, counts=self.trials.counts)
        tally.writers = [*self.writers]
        tally.groups = [WriterGroup([*group.writers], group.from_records) for group in self.groups]
        tally.blocks = widen_blocks(tally.blocks, (), len(self.writers))
        return tally

    def shrink(self, most_blocks: int = MOST_BLOCKS) -> None:
        """Count all recent records, and merge blocks until at most `most_blocks` are left.

        One block for each partition always stays. Records that no writer explains may go on waiting in
        `_pending`.
        """
        while self._recent:
            self._pass(self._recent.pop(0))
        self.blocks, self._shift = merge_blocks([self.blocks], self._shift, most_blocks)

    def settle(self) -> None:
        """Look for a writer of the last unexplained records, and count them."""
        # Explained records are counted first, so that only the others are looked at.
        self.shrink()
        while self._pending and self._look(vaguely=not self.groups, last=True):
            pass
        if self._pending:
            self._give_up()

    @property
    def explained(self) -> list[int]:
        """The number of records that each writer explains, by position in `writers`."""
        total: list[int] = self.blocks.explained.sum(axis=0).tolist()
        return total

    def best(self, group: WriterGroup) -> int:
        """Return the index of the writer of a group whose hits are the least probable by chance.

        Args:
            group: a group of this tally with at least one writer.
        """
        total, rows = self.explained, max(group.rows, 1)
        # If the topic has one partition, every writer explains every record, so evidence tells nothing.
        if self.num_partitions == 1:
            return group.writers[0]
        return max(
            group.writers,
            key=lambda writer: surprise(min(total[writer], rows), rows, self._chance(self.writers[writer])),
        )

    def _chance(self, writer: Writer) -> float:
        """Return the probability that this writer puts a random key into a given partition."""
        return 1 / (writer.num_partitions if writer.num_partitions > 1 else self.num_partitions)

    @property
    def vain(self) -> bool:
        """True if a search among enough distinct keys has found no writer."""
        needed = keys_needed(1 / self.num_partitions, len(self.trials))
        return needed is not None and self.in_vain >= needed

    def enough(self, keys: int, writer: Writer) -> bool:
        """Return whether a writer that explains this many distinct keys explains them by more than chance.

        Args:
            keys: the number of distinct keys that are where the writer puts them.
            writer: the writer.
        """
        if self.num_partitions == 1:  # every writer is the same
            return keys > 0
        needed = keys_needed(self._chance(writer), len(self.trials))
        return needed is not None and keys >= min(needed, _PROOF)

    def dump(self) -> bytes:
        """Return the state, for another process.

        Returns:
            A line of JSON, then arrays in the format of `np.savez`.
        """
        kept = {f"blocks_{name}": column for name, column in self.blocks._asdict().items()}
        for number, group in enumerate(self.groups):
            kept[f"proof_{number}"] = group.proof
        if held := self._uncounted_records():
            partition, offset, timestamp_ms, keys = concatenate(held)
            kept |= {"partition": partition, "offset": offset, "timestamp_ms": timestamp_ms}
            kept |= {"ends": keys.offsets, "data": keys.data}
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, **kept)
        plain = {
            "num_partitions": self.num_partitions,
            "profiles": self.trials.profiles,
            "counts": [*self.trials.counts],
            # `dataclasses.astuple` finds no fields in a class that PySpark 3.5 pickled by value.
            "writers": [(writer.profile, writer.same_rule, writer.num_partitions) for writer in self.writers],
            "groups": [(group.writers, group.from_records, group.rows) for group in self.groups],
            "tries": (self._shift, self._next_try, self.in_vain),
        }
        return json.dumps(plain).encode() + b"\n" + file.getvalue()

    @classmethod
    def load(cls, dumped: bytes) -> Tally:
        """Return the tally whose state `dump` returned."""
        head, _, body = dumped.partition(b"\n")
        plain = json.loads(head)
        tally = cls(plain["num_partitions"], profiles=plain["profiles"], counts=plain["counts"])
        tally.writers = [Writer(first, tuple(names), count) for first, names, count in plain["writers"]]
        tally._shift, tally._next_try, tally.in_vain = plain["tries"]
        with np.load(io.BytesIO(body), allow_pickle=False) as kept:
            tally.blocks = Blocks(*(kept[f"blocks_{name}"] for name in Blocks._fields))
            tally.groups = [
                WriterGroup(writers, asked_for, rows, kept[f"proof_{number}"])
                for number, (writers, asked_for, rows) in enumerate(plain["groups"])
            ]
            if "ends" in kept:
                keys = KeyColumn(kept["ends"], kept["data"], None)
                tally.add(Records(kept["partition"], kept["offset"], kept["timestamp_ms"], keys))
        return tally

    def _batch(self, records: Records) -> _Batch:
        """Return the records, and which of the writers known now explain each of them."""
        keyed = ~records.keys.empty
        hits = np.zeros((len(keyed), len(self.writers)), np.bool_)
        rules = [rule_of(writer) for writer in self.writers]
        hashes = hashes_of(records.keys, (rule.hash for rule in rules))
        for number, (name, sign) in enumerate(rules):
            if name in hashes:
                places = partitions_of(hashes[name], self.writers[number].num_partitions, sign)
                np.equal(places, records.partition, out=hits[:, number])
        hits &= keyed[:, None]
        return _Batch(records, hits, hashes)

    def _uncounted_records(self) -> list[Records]:
        """Return the records that have been added and not counted yet."""
        return [*self._pending, *(batch.records for batch in self._recent)]

    def _pass(self, batch: _Batch) -> None:
        """Count the explained records of a batch; the others wait in `_pending`."""
        unexplained = batch.unexplained
        if not unexplained.any():
            self._count(batch)
            return
        self._pending.append(pick_records(batch.records, np.flatnonzero(unexplained)))
        if not unexplained.all():
            self._count(batch.take(np.flatnonzero(~unexplained)))
        if _many(self._pending, MOST_PENDING, MOST_PENDING_BYTES) and (
            self.groups or not self._look(vaguely=True)
        ):
            self._give_up()

    def _count(self, batch: _Batch) -> None:
        """Count records under all writers, whether they are explained or not.

        In `groups`, a record counts only for the first group that explains it. So the counts of all groups
        add up to the number of explained records.
        """
        # True for records that an earlier group has counted already.
        counted = np.zeros(len(batch.hits), np.bool_)
        for group in self.groups:
            own = batch.hits[:, group.writers].any(axis=1) & ~counted
            counted |= own
            group.rows += int(np.count_nonzero(own))
            hashes = batch.hashes.get(rule_of(self.writers[group.writers[0]]).hash)
            if len(group.proof) < _PROOF and hashes is not None:
                group.proof = np.unique(np.concatenate([group.proof, hashes[own]]))[:_PROOF]
        part = count_hits(batch.records, batch.hits, self._shift)
        self.blocks, self._shift = merge_blocks([self.blocks, part], self._shift, MOST_BLOCKS)

    def _look(self, *, vaguely: bool = False, last: bool = False) -> bool:
        """Look for a writer of the unexplained records, and return whether one is found.

        Args:
            vaguely: whether a writer that explains all of these records is accepted even if it may do so by
                chance. A topic with three keys, for example, never gives more evidence.
            last: whether all records of all parts of the topic have been added.
        """
        recent = [pick_records(batch.records, np.flatnonzero(batch.unexplained)) for batch in self._recent]
        unexplained = concatenate([*self._pending, *recent])
        elsewhere = self.blocks.partition.any() or any(
            batch.records.partition.any() for batch in self._recent
        )
        search = find_writer(
            unexplained.keys, unexplained.partition, self.trials, alone=last or bool(elsewhere)
        )
        if not search.writers or (search.by_chance and not (vaguely and search.explained == search.keys)):
            self.in_vain = max(self.in_vain, search.keys)
            # The more records have been looked at in vain, the less a few more will help. Because the number
            # doubles, the cost of all tries together stays proportional to the number of records.
            self._next_try = 2 * self._unexplained
            return False
        self._learn(search.writers)
        pending, self._pending = self._pending, []
        # Hits have a column for each writer, so they are computed again for all batches that are kept.
        self._recent = [self._batch(batch.records) for batch in self._recent]
        for records in pending:
            self._pass(self._batch(records))
        self._unexplained = sum(len(records.offset) for records in self._pending) + sum(
            int(np.count_nonzero(batch.unexplained)) for batch in self._recent
        )
        self._next_try = FIRST_TRY
        return True

    def _give_up(self) -> None:
        """Count the pending records as explained by no writer."""
        batch = self._batch(concatenate(self._pending))
        self._pending = []
        self._count(batch)

    def _forget(self) -> None:
        """Drop rivals that have fallen behind.

        At first a rival explains as many records as the best writer, because both fit the few keys that were
        looked at. With more records one of them falls behind.
        """
        if len(self.writers) == len(self.groups):
            return
        total = self.explained
        for group in self.groups:
            best = self.best(group)
            # The constant protects young groups, in which a few records are a large share.
            least = BEHIND * total[best] - FIRST_TRY
            group.writers = [writer for writer in group.writers if total[writer] >= least]
        kept = sorted(writer for group in self.groups for writer in group.writers)
        if len(kept) < len(self.writers):
            self._recent = [batch._replace(hits=batch.hits[:, kept]) for batch in self._recent]
            self.writers = [self.writers[number] for number in kept]
            for group in self.groups:
                group.writers = [kept.index(writer) for writer in group.writers]
            explained, first, last = (
                column[:, kept]
                for column in (self.blocks.explained, self.blocks.first_missed, self.blocks.last_missed)
            )
            self.blocks = self.blocks._replace(explained=explained, first_missed=first, last_missed=last)

    def _learn(self, writers: Sequence[Writer]) -> None:
        """Count these writers from now on, and also the best one's rule with the topic's own count.

        Args:
            writers: the best one, then rivals; at least one.
        """
        own = self.trials.writer(rule_of(writers[0]), self.num_partitions)
        new = [writer for writer in writers if writer not in self.writers]
        # Each writer costs one column in every count. So if there are too many, only the best of the new ones
        # is added, without its rivals.
        if len(self.writers) + len(new) >= MOST_WRITERS:
            new = new[:1]
        self._grow_groups(new, from_records=True)
        if own not in self.writers and self.num_partitions in self.trials.counts:
            self._grow_groups([own], from_records=False)
        self.blocks = widen_blocks(self.blocks, range(self.blocks.explained.shape[1]), len(self.writers))

    def _grow_groups(self, new: Sequence[Writer], *, from_records: bool) -> None:
        """Append new writers as one group; if there are none, no group is added."""
        if new:
            self.groups.append(
                WriterGroup([*range(len(self.writers), len(self.writers) + len(new))], from_records)
            )
            self.writers.extend(new)


def _many(parts: Sequence[Records], rows: int, size: int) -> bool:
    """Return whether these are more records than `rows`, or more bytes of keys than `size`."""
    return sum(len(part.offset) for part in parts) > rows or sum(len(part.keys.data) for part in parts) > size
