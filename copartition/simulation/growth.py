"""Estimate the records that a group skips when its topic grows, before it reads the new partitions.

A consumer that gets a partition without a committed offset starts where `auto.offset.reset` says. Its default
in the Java client, librdkafka, kafka-python and aiokafka is "latest", which is the end of the partition at
that moment. So the records that were written to a new partition before that moment are never read. This was
tried on brokers 4.3.1 and 4.4.0 with the Java client and librdkafka, under both protocols: under "latest"
each client skipped the records written until it had the partition, and under "earliest" none.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from copartition.kit.evidence import Evidence
from copartition.kit.words import count, duration
from copartition.simulation.inputs.settings import Settings
from copartition.simulation.outcome.timeline import Phase, Timeline

CURE = (
    "set auto.offset.reset=earliest (by_duration:PT1H on Java 4.0 and later) on all members before the topic "
    "grows, or let producers write to the new partitions only when the members have them"
)
"""The advice that keeps a group from skipping records of new partitions, as an imperative clause."""


class Discovery(NamedTuple):
    """The longest time until members have new partitions, and the setting that decides it.

    Attributes:
        protocol: "classic" or "consumer" (KIP-848).
        at_most_ms: the longest time until the group notices them, in milliseconds; a rebalance follows.
        setting: Kafka's names of the settings that make up this time.
    """

    protocol: str
    at_most_ms: float
    setting: str

    def __str__(self) -> str:
        return f"{duration(self.at_most_ms)} ({self.setting})"


def find_discoveries(protocol: str | None, settings: Settings) -> tuple[Discovery, ...]:
    """Return the discovery under each protocol that the group may have: one if `protocol` is known, else two.

    A classic group notices new partitions when its leader refreshes its metadata; with librdkafka, when any
    member does. In a group of the consumer protocol a member's heartbeat makes the coordinator look for new
    partitions. The coordinator assigns at most once in an assignment interval, and the next heartbeat of the
    new owner brings it the partition.

    >>> [found.at_most_ms for found in find_discoveries(None, Settings())]
    [300000, 11000]
    """
    # One heartbeat makes the coordinator look, a second one brings the partition to its new owner.
    beats_ms = 2 * settings.group_consumer_heartbeat_interval_ms
    consumer = Discovery(
        "consumer",
        beats_ms + settings.group_consumer_assignment_interval_ms,
        "two of group.consumer.heartbeat.interval.ms and group.consumer.assignment.interval.ms",
    )
    age = "metadata.max.age.ms; librdkafka: topic.metadata.refresh.interval.ms"
    classic = Discovery("classic", settings.metadata_max_age_ms, age)
    return tuple(found for found in (classic, consumer) if protocol in {None, found.protocol})


def skipped_records(protocol: str | None, settings: Settings) -> tuple[str, Evidence]:
    """Return a sentence that says by a formula how many records each new partition skips, with its evidence.

    Args:
        protocol: "classic" or "consumer"; None if that is unknown.
        settings: the timeouts of the group.
    """
    times = " or ".join(
        f"{found}{f' under the {found.protocol} protocol' if protocol is None else ''}"
        for found in find_discoveries(protocol, settings)
    )
    formula = f"a group skips in each new partition its records per second times up to {times}"
    assumed = "members have auto.offset.reset=latest, their default, which no broker tells"
    ground = Evidence(("the numbers of partitions before and after",), (assumed,))
    return f"Under auto.offset.reset=latest, the default, {formula}", ground


def skipped_in_run(timeline: Timeline, rates: Mapping[str, NDArray[np.float64]] | None) -> Iterator[str]:
    """Yield, for each topic that got partitions, a sentence on the records in them that "latest" would skip.

    The run itself reads new partitions from their beginning, as under "earliest".

    Args:
        timeline: the phases of every partition.
        rates: topic -> records a second that come to each of its partitions; None if the run has no load.
    """
    # `firsts` has the first row of each partition. A partition that would have been added after the end of
    # the run has no row.
    firsts = np.flatnonzero(np.diff(timeline.partition, prepend=-1))
    consumed = timeline.phase == Phase.CONSUMING
    for topic, low, high in zip(timeline.topics, timeline.first, timeline.first[1:], strict=False):
        # Partitions that exist at time 0 count as having committed offsets, so none of their records are
        # skipped.
        rows = firsts[slice(*np.searchsorted(timeline.partition[firsts], (low, high)))]
        born = rows[timeline.start[rows] > 0]
        if not len(born):
            continue
        waits_ms = np.zeros(len(born))
        for place, row in enumerate(born.tolist()):
            life = timeline.partition == timeline.partition[row]
            read = timeline.start[life & consumed]
            # A partition that is never read skips everything up to the end of the run.
            waits_ms[place] = (read[0] if len(read) else timeline.end[life][-1]) - timeline.start[row]
        numbers = timeline.partition[born] - low
        records = (
            "" if rates is None else f"the {np.sum(rates[topic][numbers] * waits_ms) / 1_000:,.0f} records"
        )
        yield (
            f"auto.offset.reset=latest, the default, skips {records or 'the records'} that are written to "
            f"{count(len(born), 'new partition')} of {topic} until these are read, after up to "
            f"{duration(float(waits_ms.max()))}; to lose none, {CURE}"
        )
