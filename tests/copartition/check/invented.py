"""Invented topics: what clients wrote into them, one after another or at the same time, and the truth."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

import numpy as np

from copartition.audit.conclusion import conclude
from copartition.audit.tally import Tally
from copartition.audit.topic_audit import Coverage, Records, Span, TopicAudit, Writer
from copartition.check.proof import KeyComparison
from copartition.check.writers import placement
from partitioning import PROFILES, key_column, partition_batch
from tests.copartition.audit.written import count_forms


def writer(profile: str, count: int) -> Writer:
    """A rule over a count, as an audit names it."""
    rule = PROFILES[profile].hash, PROFILES[profile].sign
    same = tuple(name for name, known in PROFILES.items() if (known.hash, known.sign) == rule)
    return Writer(same[0], same, count)


@dataclass(frozen=True)
class Topic:
    """A topic: the keys that each writer wrote, in the order in which they did.

    Attributes:
        name: its name.
        written: the profile, the partition count at that time, and the keys.
        count: the partition count today.
        certainty: what an audit would find.
    """

    name: str
    written: tuple[tuple[str, int, tuple[bytes, ...]], ...]
    count: int
    certainty: str = "sure"

    @cached_property
    def records(self) -> Records:
        keys = [key for _, _, written in self.written for key in written]
        places = [
            partition_batch(written, count, profile=profile) for profile, count, written in self.written
        ]
        partition = np.concatenate([*places, np.empty(0, np.int32)]).astype(np.int32)
        number = np.arange(len(keys), dtype=np.int64)
        return Records(partition, number, number, key_column(keys))

    @cached_property
    def real_audit(self) -> TopicAudit:
        """What the real auditor finds in these records."""
        tally, records = Tally(self.count), self.records
        tally.add(records)
        read = len(records.offset)
        coverage = Coverage("full", read, read, tuple(range(self.count)), "every record")
        return conclude(self.name, tally, coverage, count_forms(records.keys).forms())

    @cached_property
    def audit(self) -> TopicAudit:
        """What a perfect auditor who reads everything says."""
        rows = [
            (int(place), stage, writer(profile, count))
            for stage, (profile, count, keys) in enumerate(self.written)
            for place in partition_batch(keys, count, profile=profile)
        ]
        rows.sort(key=lambda row: row[:2])
        spans = []
        for (place, stage), grouped in groupby(rows, key=lambda row: row[:2]):
            group = [*grouped]
            spans.append(
                Span(
                    place, stage, stage, None, None, group[0][2], len(group), keyless=0, explained=len(group)
                )
            )
        read = len(rows)
        coverage = Coverage("full", read, read, tuple(range(self.count)), "every record")
        forms = count_forms(self.records.keys).forms()
        return TopicAudit(self.name, self.count, tuple(spans), forms, coverage, self.certainty, 0)


def compared(topics: Sequence[Topic], *, complete: bool = True, **options: int):
    """The proof of all keys of these topics."""
    comparison = KeyComparison(len(topics), **options)
    for number, topic in enumerate(topics):
        comparison.add(number, topic.records)
    return comparison.proof(complete=complete)


def places(topic: Topic) -> dict[bytes, set[int]]:
    """The partitions of each key."""
    found: dict[bytes, set[int]] = {}
    records = topic.records
    for key, partition in zip(records.keys, records.partition.tolist(), strict=True):
        found.setdefault(key, set()).add(partition)
    return found


def apart(topics: Sequence[Topic]) -> dict[bytes, set[int]]:
    """The keys of two topics or more that are at several partition numbers, by looking at each."""
    having = [places(topic) for topic in topics]
    shared = {
        key for number, one in enumerate(having) for key in one if any(key in x for x in having[:number])
    }
    of = {key: set().union(*(one.get(key, set()) for one in having)) for key in shared}
    return {key: partitions for key, partitions in of.items() if len(partitions) > 1}


def will_part(topics: Iterable[Topic]) -> bool:
    """Whether records to come would be apart: the last writers' rules, over the counts of today."""
    return len({placement(PROFILES[topic.written[-1][0]], topic.count) for topic in topics}) > 1


def sampled(audit: TopicAudit) -> TopicAudit:
    """The same of a sample of the topic."""
    return replace(audit, coverage=replace(audit.coverage, kind="sample", present=10 * audit.coverage.read))
