"""The driver asks the cluster which partitions there are, and where they begin and end."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from typing import Literal, NamedTuple, Self

import confluent_kafka
from confluent_kafka.admin import AdminClient

from partitioning.clients.contact import Place, list_offsets, quiet_client
from partitioning.clients.delivery import describe_errors
from partitioning.errors import BrokerUnreachableError, InvalidConfigError, UnknownTopicError
from spark_integration.sinks.cluster import first_answer, partitions_of

ANSWER_WITHIN_S = 30.0

FEW = 2_000
"""Records that are worth a task of their own: fewer share one with those of the next partitions."""


class Range(NamedTuple):
    """Bounds what one task reads: the offsets from `start` up to and without `end`."""

    topic: str
    partition: int
    start: int
    end: int


class Cluster:
    """The cluster as the driver asks it; nothing is created there, no group is joined. A context manager.

    InvalidConfigError if librdkafka refuses the consumer configuration.
    """

    def __init__(self, config: Mapping[str, str]) -> None:
        self._config = config
        self._errors: list[confluent_kafka.KafkaError] = []
        level = config["isolation.level"]
        if level not in {"read_committed", "read_uncommitted"}:
            raise InvalidConfigError(
                f"'kafka.isolation.level' is {level!r}; give 'read_committed' or 'read_uncommitted'"
            )
        self._committed = level == "read_committed"
        self._consumer = quiet_client(confluent_kafka.Consumer, config, self._errors)
        self._admin = quiet_client(AdminClient, config, self._errors)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave no connection."""
        self._consumer.close()

    def places(self, topics: Iterable[str], assigned: Collection[Place] | None = None) -> list[Place]:
        """Return every partition of the topics, or the assigned ones (None: all are), in order.

        Raises:
            UnknownTopicError: the cluster has no such topic or partition, or does not show it to us.
            BrokerUnreachableError: no broker answers in time.
        """
        places = []
        for topic in sorted(topics):
            # By a consumer, for at an admin client's question the broker would create the topic.
            metadata = first_answer(
                self._consumer, self._config, self._errors, timeout_s=ANSWER_WITHIN_S, topic=topic
            )
            partitions = partitions_of(topic, metadata.topics[topic], self._config)
            places += [(topic, partition) for partition in partitions]
        if assigned is None:
            return places
        for topic, partition in sorted(set(assigned) - {*places}):
            count = sum(name == topic for name, _ in places)
            raise UnknownTopicError(
                f"option 'assign' names partition {partition} of topic {topic!r}, which has {count} "
                f"partitions (0 to {count - 1})"
            )
        return [place for place in places if place in assigned]

    def earliest(self, places: Iterable[Place]) -> dict[Place, int]:
        """Return the first offset that each partition still has.

        Args:
            places: topics and partitions that exist.

        Raises:
            BrokerUnreachableError: a partition's leader does not answer in time.
        """
        return self._offsets(places, "earliest")

    def latest(self, places: Iterable[Place]) -> dict[Place, int]:
        """Return the offset after the last record that may be read, by `isolation.level`.

        Args:
            places: topics and partitions that exist.

        Raises:
            BrokerUnreachableError: a partition's leader does not answer in time.
        """
        return self._offsets(places, "latest")

    def since(self, places: Iterable[Place], time_ms: int) -> dict[Place, int]:
        """Return the first offset whose record is not older than a time, in ms since 1970; -1 if none is."""
        return self._offsets(places, time_ms)

    def _offsets(
        self, places: Iterable[Place], which: Literal["earliest", "latest"] | int
    ) -> dict[Place, int]:
        """Return an offset of each partition.

        Raises:
            BrokerUnreachableError: a partition's leader does not answer in time; the message has what clients
                heard.
        """
        offsets, refusals = list_offsets(
            self._admin, places, which, committed=self._committed, within_s=ANSWER_WITHIN_S
        )
        for (topic, partition), error in refusals.items():
            self._consumer.poll(0)  # lets it tell what it heard
            errors = describe_errors(self._errors)
            raise BrokerUnreachableError(
                f"the brokers at {self._config['bootstrap.servers']!r} do not describe "
                f"'{topic}-{partition}': {error.args[0].str()}" + (f" ({errors})" if errors else "")
            ) from error
        return offsets


def spread(ranges: Iterable[Range], min_partitions: int | None) -> list[Range]:
    """Return the ranges that hold anything, cut if there are fewer than asked for, long ones first of all.

    Args:
        ranges: one for each Kafka partition, in order; empty ones are dropped.
        min_partitions: how many ranges there shall be at least; None cuts none.

    Returns:
        Ranges in the order of topic, partition and offset, none of them empty.
    """
    full = [offsets for offsets in ranges if offsets.end > offsets.start]
    total = sum(offsets.end - offsets.start for offsets in full)
    if min_partitions is None or min_partitions <= len(full):
        return full
    cut = []
    for offsets in full:
        size = offsets.end - offsets.start
        # In proportion to its records, as Spark's own source; no part may be empty.
        parts = min(max(round(size / total * min_partitions), 1), size)
        edges = [offsets.start + size * part // parts for part in range(parts + 1)]
        cut += [offsets._replace(start=start, end=end) for start, end in pairwise(edges)]
    return cut


def together(ranges: Iterable[Range], most: int = FEW) -> list[list[Range]]:
    """Return neighbours that hold few records together, in order, at most so many records in all.

    A task costs Spark 50 to 80 ms however few its records are.
    """
    tasks: list[list[Range]] = []
    room = 0
    for offsets in ranges:
        size = offsets.end - offsets.start
        if size > room:
            tasks.append([])
            room = most
        tasks[-1].append(offsets)
        room -= size
    return tasks
