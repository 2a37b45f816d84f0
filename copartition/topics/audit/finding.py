"""Finding the writer of records that no writer known so far explains."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from copartition.topics.audit.power import RISK, surprise
from copartition.topics.audit.records import picked_keys
from partitioning.hashing import HASHES
from partitioning.hashing.modulo import partitions_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from copartition.topics.audit.rules import Trials
    from copartition.topics.audit.topic_audit import Writer
    from partitioning.hashing import HashName
    from partitioning.keys import KeyColumn

MOST_TESTS = 1 << 24
"""Of a key under a writer; where there are many writers, fewer keys must do."""

MOST_KEYS, FEWEST_KEYS = 1 << 11, 1 << 8

MOST_RIVALS = 32

_ROWS = 1 << 15


class Found(NamedTuple):
    """Writers that explain most of some records.

    Attributes:
        writers: the best one, then those that explain the same records as well: rivals; empty where none
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
    rivals = [each.writer for each in best if each.evidence >= least and each.hits[first.hits].all()]
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
        keys, places = picked_keys(keys, rows), places[rows]
    # Two hashes tell keys apart; that a pair of keys has both in common does no harm.
    first, second = (HASHES[name].column(keys.offsets, keys.data) for name in ("murmur2", "crc32"))
    marks = (first.astype(np.int64) << 32) ^ second.view(np.uint32) ^ (places.astype(np.int64) << 20)
    _, rows = np.unique(marks, return_index=True)
    rows = np.sort(rows)
    if len(rows) > most:
        rows = rows[np.linspace(0, len(rows) - 1, most).astype(np.intp)]
    chosen = picked_keys(keys, rows)
    hashes: dict[HashName, NDArray[np.int32]] = {}
    for name in trials.hashes:
        try:
            hashes[name] = HASHES[name].column(chosen.offsets, chosen.data)
        except ValueError:  # it hashes text, and these keys are not all text
            continue
    return hashes, places[rows].astype(np.int32)
