"""Which writer explains records best: the rules that are tried, and how little chance explains the hits."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from copartition.topics.audit.topic_audit import Writer, pick_keys
from partitioning.errors import InvalidConfigError
from partitioning.hashing import HASHES
from partitioning.hashing.modulo import partitions_of
from partitioning.keys import key_column
from partitioning.profiles import PROFILES, find_profile
from partitioning.topic_partition import checked_partition_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from partitioning.hashing import HashName
    from partitioning.hashing.modulo import SignRule
    from partitioning.keys import KeyColumn


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
        kinds = set()
        for rule in self._names:
            if (same := _same(rule, num_partitions)) not in kinds:
                kinds.add(same)
                yield rule

    def writer(self, rule: Rule, num_partitions: int) -> Writer:
        """A rule over a count, by the names of all profiles that are the same there."""
        same = _same(rule, num_partitions)
        names = [
            name
            for other, names_of_rule in self._names.items()
            if _same(other, num_partitions) == same
            for name in names_of_rule
        ]
        return Writer(names[0], tuple(names), num_partitions)

    def writers(self) -> Iterator[Writer]:
        """Every writer that is tried, the largest count first."""
        for count in self.counts:
            for rule in self.rules(count):
                yield self.writer(rule, count)


def _likely(num_partitions: int) -> Iterator[int]:
    """The counts that a topic may have had: of many, the ones that people choose."""
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


RISK = 1e-6
"""How likely a writer may be named by chance, among all that are tried."""

_KEYS = 1 << 14


def agreement(one: Writer, other: Writer) -> float:
    """The share of keys that two writers place alike, measured on 16,384 keys.

    1 where no key shows a difference. Over counts of which one divides the other, clients of one rule
    agree on the share that the smaller is of the larger; clients of unrelated rules on one key in as many as
    the larger count.
    """
    places = [
        partitions_of(_hashes(hash_name), writer.num_partitions, sign)
        for writer in (one, other)
        for hash_name, sign in [rule_of(writer)]
    ]
    return float(np.mean(places[0] == places[1]))


def keys_needed(agreeing: float, tried: int = 1, risk: float = RISK) -> int | None:
    """So many distinct keys must be where a writer puts them before it is believed.

    With fewer, one of the others that were tried might have put all of them there by chance.

    Args:
        agreeing: the share of keys that the others place alike: `agreement`, or 1 / count for any unrelated
            rule.
        tried: how many others there are.
        risk: how likely the mistake may be.

    Returns:
        The number of keys; None where no number is enough.
    """
    if agreeing >= 1:
        return None
    if agreeing <= 0:
        return 1
    return max(1, math.ceil(math.log(risk / tried) / math.log(agreeing)))


def surprise(hits: int, keys: int, chance: float) -> float:
    """How little chance explains so many hits: minus the natural logarithm of a bound on it.

    The bound is Chernoff's: `chance ** keys` where all keys are hits, 1 where there are no more hits than
    chance gives.

    Args:
        hits: keys that are where a writer puts them.
        keys: keys that could be there.
        chance: how likely each is there by chance.
    """
    share = hits / keys
    if share <= chance or chance >= 1:
        return 0.0
    there = share * math.log(share / chance)
    return keys * (there + ((1 - share) * math.log((1 - share) / (1 - chance)) if share < 1 else 0))


@lru_cache
def _hashes(name: HashName) -> NDArray[np.int32]:
    keys = key_column([b"key-%d" % number for number in range(_KEYS)])
    return HASHES[name].column(keys.offsets, keys.data)


MOST_TESTS = 1 << 24
"""Of a key under a writer; where there are many writers, fewer keys must do."""

MOST_KEYS, FEWEST_KEYS = 1 << 11, 1 << 8

MOST_RIVALS = 32

_ROWS = 1 << 15


class Found(NamedTuple):
    """Writers that explain most of some records.

    Attributes:
        writers: the best one, then its rivals, which explain the same records as well; empty where none
            explains more than chance.
        keys: distinct keys that were looked at, each with its place.
        explained: of them, how many the best one explains.
        by_chance: whether chance might explain that, too: there are too few keys.
    """

    writers: tuple[Writer, ...]
    keys: int
    explained: int
    by_chance: bool


def find_writer(keys: KeyColumn, places: NDArray[np.integer], trials: Trials, *, alone: bool = True) -> Found:
    """The writer that explains these records best.

    The evidence for a writer is how little chance explains its hits: a random key is where a count of n puts
    it with a probability of 1 / n, whatever the partition. Repeated keys are no further evidence.

    Args:
        keys: keys of at least one byte.
        places: the partition of each.
        trials: what is tried.
        alone: whether records that are all in partition 0 may say that it was the only one. They do not
            where no other partition was looked at.
    """
    hashes, places = _distinct(keys, places, trials)
    highest = int(places.max(initial=0))
    best: list[_Tried] = []
    for count in trials.counts:
        if count <= 1 < trials.num_partitions:
            continue
        possible = int(np.count_nonzero(places < count))
        for rule in trials.rules(count):
            if possible and rule.hash in hashes:
                hits = partitions_of(hashes[rule.hash], count, rule.sign) == places
                evidence = surprise(int(np.count_nonzero(hits)), possible, 1 / count)
                if evidence > 0 or count == 1:
                    best.append(_Tried(evidence, trials.writer(rule, count), hits))
        best = sorted(best, key=lambda each: -each.evidence)[:MOST_RIVALS]
    needed = math.log(len(trials) / RISK)
    alone = alone and highest == 0 < len(places) and 1 in trials.counts and trials.num_partitions > 1
    if alone and not (best and best[0].evidence >= needed):
        # Whatever is in partition 0 may have been written when there was no other.
        evidence = surprise(len(places), len(places), 1 / trials.num_partitions)
        rule = next(trials.rules(1))
        best = [_Tried(evidence, trials.writer(rule, 1), np.ones(len(places), np.bool_)), *best]
        best.sort(key=lambda each: -each.evidence)
    if not best:
        return Found((), len(places), 0, by_chance=True)
    first = best[0]
    # A divisor of a count explains its low partitions, too: a rival until enough keys speak against it.
    least = first.evidence + math.log(RISK)
    rivals = [tried.writer for tried in best if tried.evidence >= least and tried.hits[first.hits].all()]
    return Found(
        tuple(rivals), len(places), int(np.count_nonzero(first.hits)), by_chance=first.evidence < needed
    )


class _Tried(NamedTuple):
    evidence: float
    writer: Writer
    hits: NDArray[np.bool_]


def _distinct(
    keys: KeyColumn, places: NDArray[np.integer], trials: Trials
) -> tuple[dict[HashName, NDArray[np.int32]], NDArray[np.int32]]:
    """Hashes and places of as many different keys as are needed, a key once for each of its places."""
    most = max(FEWEST_KEYS, min(MOST_KEYS, MOST_TESTS // len(trials)))
    if len(places) > _ROWS:
        rows = np.linspace(0, len(places) - 1, _ROWS).astype(np.intp)
        keys, places = pick_keys(keys, rows), places[rows]
    # Two hashes tell keys apart; that a pair of keys has both in common does no harm.
    first, second = (HASHES[name].column(keys.offsets, keys.data) for name in ("murmur2", "crc32"))
    marks = (first.astype(np.int64) << 32) ^ second.view(np.uint32) ^ (places.astype(np.int64) << 20)
    _, rows = np.unique(marks, return_index=True)
    rows = np.sort(rows)
    if len(rows) > most:
        rows = rows[np.linspace(0, len(rows) - 1, most).astype(np.intp)]
    chosen = pick_keys(keys, rows)
    hashes: dict[HashName, NDArray[np.int32]] = {}
    for name in trials.hashes:
        try:
            hashes[name] = HASHES[name].column(chosen.offsets, chosen.data)
        except ValueError:  # it hashes text, and these keys are not all text
            continue
    return hashes, places[rows].astype(np.int32)
