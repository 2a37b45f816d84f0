"""Find the writer that explains records best, among the rules to try.

A writer is a rule (hash and sign) with a partition count. All keys that it wrote are where it puts them. Of
other keys, one in n is there by chance if the count is n. So hits are weighed by how improbable they are by
chance, not by their number: a rule with 2 partitions hits half of all keys by chance.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from copartition.audit.topic_audit import Writer, key_hashes, pick_keys
from partitioning.errors import InvalidConfigError
from partitioning.hashing import HASHES, HashName
from partitioning.hashing.modulo import partitions_of
from partitioning.keys import KeyColumn
from partitioning.profiles import PROFILES, Rule, find_profile, placing_of
from partitioning.topic_partition import checked_partition_count

EVERY_COUNT = 2_000
"""Every count up to this one is tried."""


class Trials:
    """The writers to try: rules of profiles, with partition counts.

    By default these are all of `PROFILES`, with the topic's own count and all smaller ones; above 2,000, only
    multiples of 50 and 64.

    Raises:
        InvalidConfigError: there are no profiles or no counts.
    """

    def __init__(
        self, num_partitions: int, profiles: Iterable[str] | None = None, counts: Iterable[int] | None = None
    ) -> None:
        self.num_partitions = checked_partition_count(num_partitions)
        names = tuple(PROFILES if profiles is None else profiles)
        # The largest count comes first: if two counts have the same evidence, the sort below keeps the first
        # of them.
        tried = _likely(self.num_partitions) if counts is None else map(checked_partition_count, counts)
        self.counts: Sequence[int] = sorted({*tried}, reverse=True)  # the largest first
        if not names or not self.counts:
            raise InvalidConfigError(
                "an audit tries partition counts and profiles: give at least one of each"
            )
        self._names: dict[Rule, list[str]] = {}
        for profile in map(find_profile, names):
            self._names.setdefault(profile.rule, []).append(profile.name)

    @property
    def profiles(self) -> tuple[str, ...]:
        """The names of the profiles whose rules are tried."""
        return tuple(name for names in self._names.values() for name in names)

    @property
    def hashes(self) -> tuple[HashName, ...]:
        """The hash functions of the rules."""
        return tuple(dict.fromkeys(rule.hash for rule in self._names))

    def __len__(self) -> int:
        """Return an upper bound of `tried`: rules that are the same for some count are counted twice."""
        return len(self._names) * len(self.counts)

    def rules(self, num_partitions: int) -> Iterator[Rule]:
        """Yield the rules that differ for this partition count, and only the first of equal ones."""
        kinds = set()
        for rule in self._names:
            if (same := placing_of(rule, num_partitions)) not in kinds:
                kinds.add(same)
                yield rule

    def writer(self, rule: Rule, num_partitions: int) -> Writer:
        """Return the writer that is a rule with a count, named by all profiles that place keys alike for it.

        Args:
            rule: one of those that `rules` yields for the count.
            num_partitions: the partition count.
        """
        same = placing_of(rule, num_partitions)
        names = [
            name
            for other, names_of_rule in self._names.items()
            if placing_of(other, num_partitions) == same
            for name in names_of_rule
        ]
        return Writer(names[0], tuple(names), num_partitions)

    @property
    def tried(self) -> int:
        """The number of writers that are tried: for each count, the rules that differ for it."""
        return sum(1 for count in self.counts for _ in self.rules(count))


def _likely(num_partitions: int) -> Iterator[int]:
    """Yield the counts that a topic may have had; above `EVERY_COUNT` only counts that people choose."""
    yield num_partitions
    yield from range(1, min(num_partitions, EVERY_COUNT) + 1)
    for step in (50, 64):
        yield from range(step * (EVERY_COUNT // step + 1), num_partitions, step)


def rule_of(writer: Writer) -> Rule:
    """Return the rule of a writer."""
    return find_profile(writer.profile).rule


RISK = 1e-6
"""The accepted probability that a writer is found although it fits by chance, over all writers tried."""


def keys_needed(agreeing: float, tried: int = 1, risk: float = RISK) -> int | None:
    """Return how many distinct keys must be where a writer puts them before it is believed; None if never.

    If there are fewer keys, the probability that one of the `tried` writers fits all of them only by chance
    is above `risk`.

    Args:
        agreeing: the share of keys, 0 to 1, that another writer places alike; 1 / count if its rule is
            unrelated.
        tried: how many writers are tried.
        risk: the accepted probability.
    """
    if agreeing >= 1:
        return None
    if agreeing <= 0:
        return 1
    return max(1, math.ceil(math.log(risk / tried) / math.log(agreeing)))


def surprise(hits: int, keys: int, chance: float) -> float:
    """Return how improbable this many hits are by chance: minus the natural logarithm of a bound.

    The bound on the probability is Chernoff's. It is `chance ** keys` if all keys are hits, and 1 if there
    are no more hits than expected.

    Args:
        hits: the number of keys that are where the writer puts them.
        keys: the number of keys, at least 1.
        chance: the probability that a key is a hit by chance.
    """
    share = hits / keys
    if share <= chance or chance >= 1:
        return 0.0
    there = share * math.log(share / chance)
    return keys * (there + ((1 - share) * math.log((1 - share) / (1 - chance)) if share < 1 else 0))


MOST_TESTS = 1 << 24
"""The most tests of a key against a writer; if there are many writers, fewer keys are tested."""

MOST_KEYS, FEWEST_KEYS = 1 << 11, 1 << 8

MOST_RIVALS = 32

_ROWS = 1 << 15


class BestWriters(NamedTuple):
    """The writer that best explains some records, and its rivals, if any is better than chance."""

    # The best writer, then rivals that explain the same records; empty if none is better than chance.
    writers: tuple[Writer, ...]
    keys: int  # the number of distinct keys that were tested, each with its partition
    explained: int  # how many of them the best writer explains
    by_chance: bool  # whether chance might explain these, too, because there are too few keys


def find_writer(
    keys: KeyColumn, places: NDArray[np.integer], trials: Trials, *, alone: bool = True
) -> BestWriters:
    """Return the writer that best explains the partitions (`places`) of these keys, none of them empty.

    The evidence for a writer is how improbable its hits are by chance: a count of n puts a random key into
    its partition with a probability of 1 / n. Repeated keys add no evidence.

    Args:
        keys: the keys; a repeated key counts once for each of its partitions.
        places: the partition of each, shape (n,).
        trials: the writers to try.
        alone: whether records that are all in partition 0 may mean that the topic had no other partition.
            False as long as no record of another partition was read.
    """
    hashes, places = _distinct(keys, places, trials)
    highest = int(places.max(initial=0))
    best: list[_TriedWriter] = []
    for count in trials.counts:
        # A single partition explains every key in it, so it is weighed separately, after all others.
        if count <= 1 < trials.num_partitions:
            continue
        # Count only the keys in partitions that the topic had with this count. The other keys may have come
        # after the topic grew.
        possible = int(np.count_nonzero(places < count))
        for rule in trials.rules(count):
            if possible and rule.hash in hashes:
                hits = partitions_of(hashes[rule.hash], count, rule.sign) == places
                evidence = surprise(int(np.count_nonzero(hits)), possible, 1 / count)
                if evidence > 0 or count == 1:
                    best.append(_TriedWriter(evidence, trials.writer(rule, count), hits))
        best = sorted(best, key=lambda trial: -trial.evidence)[:MOST_RIVALS]
    needed = math.log(len(trials) / RISK)
    alone = alone and highest == 0 < len(places) and 1 in trials.counts and trials.num_partitions > 1
    if alone and not (best and best[0].evidence >= needed):
        # Records in partition 0 may have been written when the topic had no other partition.
        evidence = surprise(len(places), len(places), 1 / trials.num_partitions)
        rule = next(trials.rules(1))
        best = [_TriedWriter(evidence, trials.writer(rule, 1), np.ones(len(places), np.bool_)), *best]
        best.sort(key=lambda trial: -trial.evidence)
    if not best:
        return BestWriters((), len(places), 0, by_chance=True)
    first = best[0]
    # A writer with a divisor of the true count puts the keys of low partitions into the same partitions. It
    # is a rival until keys in other partitions contradict it.
    least = first.evidence + math.log(RISK)
    rivals = [tried.writer for tried in best if tried.evidence >= least and tried.hits[first.hits].all()]
    return BestWriters(
        tuple(rivals), len(places), int(np.count_nonzero(first.hits)), by_chance=first.evidence < needed
    )


class _TriedWriter(NamedTuple):
    """A writer that was tried on some keys.

    Attributes:
        evidence: how improbable its hits are by chance, see `surprise`.
        writer: the writer.
        hits: whether each key is where the writer puts it, shape (n,).
    """

    evidence: float
    writer: Writer
    hits: NDArray[np.bool_]


def _distinct(
    keys: KeyColumn, places: NDArray[np.integer], trials: Trials
) -> tuple[dict[HashName, NDArray[np.int32]], NDArray[np.int32]]:
    """Return hashes and partitions of different keys, of which at most as many as can be tested.

    A key that is in several partitions is returned once for each of them.
    """
    most = max(FEWEST_KEYS, min(MOST_KEYS, MOST_TESTS // len(trials)))
    if len(places) > _ROWS:
        rows = np.linspace(0, len(places) - 1, _ROWS).astype(np.intp)
        keys, places = pick_keys(keys, rows), places[rows]
    # Keys are told apart by hashes; it does no harm if two keys share one.
    marks = key_hashes(keys) ^ (places.astype(np.uint64) << np.uint64(20))
    _, rows = np.unique(marks, return_index=True)
    rows = np.sort(rows)
    if len(rows) > most:
        rows = rows[np.linspace(0, len(rows) - 1, most).astype(np.intp)]
    chosen = pick_keys(keys, rows)
    return hashes_of(chosen, trials.hashes), places[rows].astype(np.int32)


def hashes_of(keys: KeyColumn, names: Iterable[HashName]) -> dict[HashName, NDArray[np.int32]]:
    """Return function name -> the hash of each key, shape (n,); a function that cannot hash them is left out.

    Args:
        keys: n keys.
        names: names of the hash functions; a name may be repeated, but its function hashes only once.
    """
    hashes: dict[HashName, NDArray[np.int32]] = {}
    for name in dict.fromkeys(names):
        # A function that hashes text refuses keys that are not all text.
        with suppress(ValueError):
            hashes[name] = HASHES[name].column(keys.offsets, keys.data)
    return hashes
