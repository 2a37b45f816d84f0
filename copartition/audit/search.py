"""Find the writer that explains records best: the rules to try, and how little chance explains the hits.

A writer is a rule (hash and sign) over a partition count. Keys that were written by it are all where it puts
them; of any other keys over n partitions, one in n is there by chance. So hits are weighed by how little
chance explains them, not by their number: a rule over 2 partitions has half of all keys for nothing.
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
from partitioning.profiles import PROFILES, Rule, find_profile
from partitioning.topic_partition import checked_partition_count

EVERY_COUNT = 2_000
"""Up to here every count is tried."""


class Trials:
    """The writers to try: rules of profiles, over partition counts.

    By default all of `PROFILES`, over the topic's own count and all smaller ones, of those above 2,000 the
    multiples of 50 and 64. No profiles or no counts raise `InvalidConfigError`.
    """

    def __init__(
        self, num_partitions: int, profiles: Iterable[str] | None = None, counts: Iterable[int] | None = None
    ) -> None:
        self.num_partitions = checked_partition_count(num_partitions)
        names = tuple(PROFILES if profiles is None else profiles)
        # The largest first: of two counts with the same evidence, the sort below keeps the one that comes
        # first.
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
        """Return an upper bound of `tried`: rules that are the same over some count are counted apart."""
        return len(self._names) * len(self.counts)

    def rules(self, num_partitions: int) -> Iterator[Rule]:
        """Yield the rules that differ over this many partitions, each the first of its kind."""
        kinds = set()
        for rule in self._names:
            if (same := placing_of(rule, num_partitions)) not in kinds:
                kinds.add(same)
                yield rule

    def writer(self, rule: Rule, num_partitions: int) -> Writer:
        """Return a rule over a count, by the names of all profiles that are the same there.

        Args:
            rule: one of those that `rules` yields for the count.
            num_partitions: the count.
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
        """The number of writers that are tried: for each count, the rules that differ over it."""
        return sum(1 for count in self.counts for _ in self.rules(count))


def _likely(num_partitions: int) -> Iterator[int]:
    """Yield the counts that a topic may have had: of many, the ones that people choose."""
    yield num_partitions
    yield from range(1, min(num_partitions, EVERY_COUNT) + 1)
    for step in (50, 64):
        yield from range(step * (EVERY_COUNT // step + 1), num_partitions, step)


def rule_of(writer: Writer) -> Rule:
    """Return the rule of a writer."""
    return find_profile(writer.profile).rule


def placing_of(rule: Rule, num_partitions: int | None) -> tuple[str, str]:
    """Return hash and sign of a rule, "any" if they make no difference over this count (None: unknown).

    Rules that place every key alike have one answer.

    Args:
        rule: the rule.
        num_partitions: the count; None if it is unknown, so that rules are told apart which may be the same.
    """
    if num_partitions == 1:
        return "any", "any"
    if num_partitions == 2:  # a remainder of 2 has no sign
        return rule.hash, "any"
    # 2**31 is a multiple of such a count, so it does not matter whether the sign bit is counted.
    two_to_the = num_partitions is not None and num_partitions & (num_partitions - 1) == 0
    return rule.hash, "mask" if two_to_the and rule.sign == "unsigned" else rule.sign


RISK = 1e-6
"""The probability with which a writer may be named by chance, among all that are tried."""


def keys_needed(agreeing: float, tried: int = 1, risk: float = RISK) -> int | None:
    """Return how many distinct keys must be where a writer puts them to believe in it.

    None if no number is enough.

    With fewer, one of the `tried` others might have put all of them there by chance, with a probability of
    `risk`. `agreeing` is the share of keys that the others place alike: 1 / count for any unrelated rule.

    Args:
        agreeing: the share of keys, 0 to 1.
        tried: how many writers are tried.
        risk: the probability.
    """
    if agreeing >= 1:
        return None
    if agreeing <= 0:
        return 1
    return max(1, math.ceil(math.log(risk / tried) / math.log(agreeing)))


def surprise(hits: int, keys: int, chance: float) -> float:
    """Return how little chance explains so many hits: minus the natural logarithm of a bound on it.

    The bound is Chernoff's: `chance ** keys` where all keys are hits, 1 if there are no more hits than
    chance gives. `chance` is how likely each key is a hit by chance.
    """
    share = hits / keys
    if share <= chance or chance >= 1:
        return 0.0
    there = share * math.log(share / chance)
    return keys * (there + ((1 - share) * math.log((1 - share) / (1 - chance)) if share < 1 else 0))


MOST_TESTS = 1 << 24
"""Of a key under a writer; where there are many writers, fewer keys must do."""

MOST_KEYS, FEWEST_KEYS = 1 << 11, 1 << 8

MOST_RIVALS = 32

_ROWS = 1 << 15


class BestWriters(NamedTuple):
    """Writers that explain most of some records."""

    # The best, then rivals that explain the same records; empty if none beats chance.
    writers: tuple[Writer, ...]
    keys: int  # distinct keys that were looked at, each with its place
    explained: int  # of them, how many the best writer explains
    by_chance: bool  # whether chance might explain that, too: there are too few keys


def find_writer(
    keys: KeyColumn, places: NDArray[np.integer], trials: Trials, *, alone: bool = True
) -> BestWriters:
    """Return the writer that best explains the partitions (`places`) of these keys, none of them empty.

    The evidence for a writer is how little chance explains its hits: a random key is where a count of n puts
    it with a probability of 1 / n, whatever the partition. Repeated keys are no further evidence. With
    `alone` records that are all in partition 0 may say that it was the only one; not so where no other
    partition was read.

    Args:
        keys: the keys; one that comes more than once counts once for each partition.
        places: the partition of each, shape (n,).
        trials: what to try.
        alone: whether partition 0 may be the only one there was.
    """
    hashes, places = _distinct(keys, places, trials)
    highest = int(places.max(initial=0))
    best: list[_Tried] = []
    for count in trials.counts:
        # One partition explains every key that is in it, so it is weighed apart, after all others.
        if count <= 1 < trials.num_partitions:
            continue
        # Only keys that this count could have placed where they are; the others may have come after a growth.
        possible = int(np.count_nonzero(places < count))
        for rule in trials.rules(count):
            if possible and rule.hash in hashes:
                hits = partitions_of(hashes[rule.hash], count, rule.sign) == places
                evidence = surprise(int(np.count_nonzero(hits)), possible, 1 / count)
                if evidence > 0 or count == 1:
                    best.append(_Tried(evidence, trials.writer(rule, count), hits))
        best = sorted(best, key=lambda trial: -trial.evidence)[:MOST_RIVALS]
    needed = math.log(len(trials) / RISK)
    alone = alone and highest == 0 < len(places) and 1 in trials.counts and trials.num_partitions > 1
    if alone and not (best and best[0].evidence >= needed):
        # Whatever is in partition 0 may have been written when there was no other.
        evidence = surprise(len(places), len(places), 1 / trials.num_partitions)
        rule = next(trials.rules(1))
        best = [_Tried(evidence, trials.writer(rule, 1), np.ones(len(places), np.bool_)), *best]
        best.sort(key=lambda trial: -trial.evidence)
    if not best:
        return BestWriters((), len(places), 0, by_chance=True)
    first = best[0]
    # A divisor of a count explains its low partitions, too: a rival until enough keys speak against it.
    least = first.evidence + math.log(RISK)
    rivals = [tried.writer for tried in best if tried.evidence >= least and tried.hits[first.hits].all()]
    return BestWriters(
        tuple(rivals), len(places), int(np.count_nonzero(first.hits)), by_chance=first.evidence < needed
    )


class _Tried(NamedTuple):
    """A writer that was tried on some keys.

    Attributes:
        evidence: how little chance explains its hits, see `surprise`.
        writer: the writer.
        hits: whether each key is where it puts it, shape (n,).
    """

    evidence: float
    writer: Writer
    hits: NDArray[np.bool_]


def _distinct(
    keys: KeyColumn, places: NDArray[np.integer], trials: Trials
) -> tuple[dict[HashName, NDArray[np.int32]], NDArray[np.int32]]:
    """Return hashes and places of as many different keys as are needed, a key once for each of its places."""
    most = max(FEWEST_KEYS, min(MOST_KEYS, MOST_TESTS // len(trials)))
    if len(places) > _ROWS:
        rows = np.linspace(0, len(places) - 1, _ROWS).astype(np.intp)
        keys, places = pick_keys(keys, rows), places[rows]
    # Hashes tell keys apart; that a pair of keys has one in common does no harm.
    marks = key_hashes(keys) ^ (places.astype(np.uint64) << np.uint64(20))
    _, rows = np.unique(marks, return_index=True)
    rows = np.sort(rows)
    if len(rows) > most:
        rows = rows[np.linspace(0, len(rows) - 1, most).astype(np.intp)]
    chosen = pick_keys(keys, rows)
    return hashes_of(chosen, trials.hashes), places[rows].astype(np.int32)


def hashes_of(keys: KeyColumn, names: Iterable[HashName]) -> dict[HashName, NDArray[np.int32]]:
    """Return the hash of each key by function, shape (n,); a function that cannot hash them is left out.

    Args:
        keys: n keys.
        names: of the functions, each as often as it comes; it hashes once.
    """
    hashes: dict[HashName, NDArray[np.int32]] = {}
    for name in dict.fromkeys(names):
        # One that hashes text refuses keys that are not all text.
        with suppress(ValueError):
            hashes[name] = HASHES[name].column(keys.offsets, keys.data)
    return hashes
