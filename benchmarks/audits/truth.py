"""What is true of a recorded topic: who wrote which record, what its data can tell, and which joins break."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmarks.audits.cells import PLACED_AS, UNRULED
from benchmarks.audits.keys import MEANT
from copartition.audit.topic_audit import Records
from partitioning.hashing import HASHES
from partitioning.hashing.modulo import partitions_of
from partitioning.keys import key_column
from partitioning.profiles import PROFILES

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from benchmarks.audits.cells import Cell
    from partitioning.hashing import HashName
    from partitioning.hashing.modulo import SignRule


class Rule(NamedTuple):
    """A hash and a sign rule over a partition count: all that a record's place can tell of its client."""

    hash: HashName
    sign: SignRule
    num_partitions: int


def rule(profile: str, num_partitions: int) -> Rule:
    """Where a client places keyed records."""
    return Rule(PROFILES[profile].hash, PROFILES[profile].sign, num_partitions)


@dataclass(frozen=True)
class Written:
    """A topic as it was recorded.

    Attributes:
        cell: how it was written.
        records: all of them, by partition and offset.
        phase: of each record the number of the phase that wrote it; shape (n,).
    """

    cell: Cell
    records: Records
    phase: NDArray[np.int64]

    @classmethod
    def of(cls, cell: Cell, table: pa.Table, ends: list[list[int]]) -> Written:
        """A topic from what was kept of it."""
        partition = table["partition"].to_numpy()
        offset = table["offset"].to_numpy()
        records = Records(partition, offset, table["timestamp_ms"].to_numpy(), key_column(table["key"]))
        bounds = np.array(
            [phase_ends + [0] * (len(ends[-1]) - len(phase_ends)) for phase_ends in ends[:-1]], np.int64
        )
        phase = (offset >= bounds.reshape(-1, len(ends[-1]))[:, partition]).sum(axis=0)
        return cls(cell, records, phase)

    @property
    def num_partitions(self) -> int:
        """How many the topic has in the end."""
        return self.cell.phases[-1].partitions

    @cached_property
    def keyed(self) -> NDArray[np.bool_]:
        """Which records have a key; shape (n,)."""
        return ~self.records.keys.empty

    def writers(self, phase: int) -> tuple[Rule | None, ...]:
        """Each rule by which a phase was written, that of most records first; None for no rule."""
        lived = self.cell.phases[phase]
        by_share = sorted(lived.shares, key=lambda client: -lived.shares[client])
        rules = (
            None if client in UNRULED else rule(PLACED_AS.get(client, client), lived.partitions)
            for client in by_share
        )
        return tuple(dict.fromkeys(rules))

    def explains(self, one: Rule) -> NDArray[np.bool_]:
        """Which records are where a rule puts them; shape (n,)."""
        hashes = self._hashes.get(one.hash)
        if hashes is None:
            return np.zeros(len(self.keyed), np.bool_)
        there: NDArray[np.bool_] = (
            partitions_of(hashes, one.num_partitions, one.sign) == self.records.partition
        )
        return there

    def possible(self, phase: int) -> set[Rule]:
        """Every rule, over every count, that puts all keyed records of a phase where they are."""
        mine = self.keyed & (self.phase == phase)
        rules = {
            Rule(profile.hash, profile.sign, count)
            for profile in PROFILES.values()
            for count in range(1, self.num_partitions + 1)
        }
        return {candidate for candidate in rules if self.explains(candidate)[mine].all()}

    @cached_property
    def _hashes(self) -> dict[HashName, NDArray[np.int32]]:
        keys, found = self.records.keys, {}
        for name, made in HASHES.items():
            try:
                found[name] = made.column(keys.offsets, keys.data)
            except ValueError:  # it hashes text, and these keys are not all text
                continue
        return found

    @cached_property
    def places(self) -> dict[int, set[int]]:
        """Of each order every partition that has it, whatever the bytes of its key."""
        found: dict[int, set[int]] = {}
        for partition, key in zip(self.records.partition.tolist(), self.records.keys, strict=True):
            if key:
                found.setdefault(MEANT[key].order, set()).add(partition)
        return found

    @cached_property
    def spellings(self) -> set[str]:
        """How its keys are spelled."""
        return {MEANT[key].spelling for key in self.records.keys if key}


def broken(one: Written, other: Written) -> bool:
    """Whether a join by partition misses anything.

    It does where counts differ, where a topic has no keys, where an order can have two keys, and where one
    that both topics have is at two partition numbers.
    """
    if one.num_partitions != other.num_partitions or len(one.spellings | other.spellings) != 1:
        return True
    if not (one.places and other.places):
        return True
    common = one.places.keys() & other.places.keys()
    return any(len(one.places[order] | other.places[order]) > 1 for order in common)
