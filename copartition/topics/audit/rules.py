"""The rules that an audit tries.

Profiles with the same hash and sign are one rule, and so are those that a partition count makes one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from copartition.topics.audit.topic_audit import Writer
from partitioning.errors import InvalidConfigError
from partitioning.profiles import PROFILES, find_profile
from partitioning.topic_partition import checked_partition_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from partitioning.hashing import HashName
    from partitioning.hashing.modulo import SignRule


EVERY_COUNT = 2_000
"""Up to here every count is tried."""


class Rule(NamedTuple):
    """How a keyed record is placed, but for the partition count."""

    hash: HashName
    sign: SignRule


class Trials:
    """The writers to try.

    Args:
        num_partitions: the topic's partition count.
        profiles: whose rules, names in `PROFILES`; all by default.
        counts: partition counts; by default the topic's own and all smaller ones, of those above 2,000 the
            multiples of 50 and 64.

    Attributes:
        num_partitions: the topic's partition count.
        counts: partition counts, the largest first.

    Raises:
        InvalidPartitionCountError: a count is out of range.
        UnknownStrategyError: no profile of that name.
        InvalidConfigError: no profiles, or no counts.
    """

    def __init__(
        self, num_partitions: int, profiles: Iterable[str] | None = None, counts: Iterable[int] | None = None
    ) -> None:
        self.num_partitions = checked_partition_count(num_partitions)
        names = tuple(PROFILES if profiles is None else profiles)
        tried = _likely(self.num_partitions) if counts is None else map(checked_partition_count, counts)
        self.counts: Sequence[int] = sorted({*tried}, reverse=True)
        if not names or not self.counts:
            raise InvalidConfigError(
                "an audit tries partition counts and profiles: give at least one of each"
            )
        self._names: dict[Rule, list[str]] = {}
        for profile in map(find_profile, names):
            self._names.setdefault(Rule(profile.hash, profile.sign), []).append(profile.name)

    @property
    def profiles(self) -> tuple[str, ...]:
        """Whose rules are tried."""
        return tuple(name for names in self._names.values() for name in names)

    @property
    def hashes(self) -> tuple[HashName, ...]:
        """The hash functions of the rules."""
        return tuple(dict.fromkeys(rule.hash for rule in self._names))

    def __len__(self) -> int:
        return len(self._names) * len(self.counts)

    def rules(self, num_partitions: int) -> Iterator[Rule]:
        """The rules that differ over this many partitions, each the first of its kind."""
        seen = set()
        for rule in self._names:
            if (same := _same(rule, num_partitions)) not in seen:
                seen.add(same)
                yield rule

    def writer(self, rule: Rule, num_partitions: int) -> Writer:
        """A rule over a count, by the names of all profiles that are the same there."""
        same = _same(rule, num_partitions)
        names = [
            name
            for other, found in self._names.items()
            if _same(other, num_partitions) == same
            for name in found
        ]
        return Writer(names[0], tuple(names), num_partitions)

    def writers(self) -> Iterator[Writer]:
        """Every writer that is tried, the largest count first."""
        for count in self.counts:
            for rule in self.rules(count):
                yield self.writer(rule, count)


def _likely(num_partitions: int) -> Iterator[int]:
    """The counts that a topic may have had: of many, those that people choose."""
    yield num_partitions
    yield from range(1, min(num_partitions, EVERY_COUNT) + 1)
    for step in (50, 64):
        yield from range(step * (EVERY_COUNT // step + 1), num_partitions, step)


def rule_of(writer: Writer) -> Rule:
    """The rule of a writer."""
    profile = find_profile(writer.profile)
    return Rule(profile.hash, profile.sign)


def _same(rule: Rule, num_partitions: int) -> tuple[str, str]:
    """What two rules have in common that place every key alike over this many partitions."""
    if num_partitions == 1:
        return "", ""
    # The sign bit is worth 2**31, a multiple of every smaller power of two, and -1 is 1 modulo 2.
    if num_partitions == 2:
        return rule.hash, ""
    whole = num_partitions & (num_partitions - 1) == 0
    return rule.hash, "unsigned" if whole and rule.sign == "mask" else rule.sign
