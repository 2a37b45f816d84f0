"""Ask the cluster, on the driver, which partitions there are and where they begin and end."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import pairwise
from typing import Literal, NamedTuple, Self

import confluent_kafka
from confluent_kafka.admin import AdminClient

from partitioning.clients.contact import Place, list_offsets, quiet_client
from partitioning.clients.delivery import describe_errors
from partitioning.errors import BrokerUnreachableError, InvalidConfigError, UnknownTopicError
from spark_integration.sinks.cluster import first_answer, partition_numbers

ANSWER_WITHIN_S = 30.0

FEW = 2_000
"""The most records that ranges which share a task have together; a longer range has a task of its own.

Partitions with few records share a task with their neighbours, because each task has a cost of its own.
"""


class OffsetRange(NamedTuple):
    """Names offsets of one partition that a task reads: from `start` up to, but not including, `end`."""

    topic: str
    partition: int
    start: int
    end: int


class ClusterReader:
    """Asks the cluster for partitions and offsets; a context manager that closes its connections.

    It creates no topic and joins no group.

    Args:
        config: librdkafka's consumer settings, `isolation.level` among them.

    Raises:
        InvalidConfigError: `isolation.level` has no valid value, or librdkafka refuses the settings.
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
        """Close the connections to the cluster."""
        self._consumer.close()

    def places(self, topics: Iterable[str], assigned: Collection[Place] | None = None) -> list[Place]:
        """Return the partitions to read, sorted by topic and number.

        Args:
            topics: names of the topics.
            assigned: the partitions to read; None for every partition of the topics.

        Raises:
            UnknownTopicError: the cluster has no such topic or partition, or does not show it to us.
            BrokerUnreachableError: no broker answers in time.
        """
        places = []
        for topic in sorted(topics):
            # The consumer asks, because a broker may create a topic that an admin client asks for.
            metadata = first_answer(
                self._consumer, self._config, self._errors, timeout_s=ANSWER_WITHIN_S, topic=topic
            )
            partitions = partition_numbers(topic, metadata.topics[topic], self._config)
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
        """Return the offset after the last record of each partition that `isolation.level` allows to read.

        Args:
            places: topics and partitions that exist.

        Raises:
            BrokerUnreachableError: a partition's leader does not answer in time.
        """
        return self._offsets(places, "latest")

    def since(self, places: Iterable[Place], time_ms: int) -> dict[Place, int]:
        """Return the first offset of each partition whose record is not older than a time; -1 if none is.

        Args:
            places: topics and partitions that exist.
            time_ms: the time in milliseconds since 1970.

        Raises:
            BrokerUnreachableError: a partition's leader does not answer in time.
        """
        return self._offsets(places, time_ms)

    def _offsets(
        self, places: Iterable[Place], which: Literal["earliest", "latest"] | int
    ) -> dict[Place, int]:
        """Return an offset of each partition: the earliest, the latest, or the first one since a time in ms.

        Raises:
            BrokerUnreachableError: a partition's leader does not answer in time; the message has the errors
                that the clients have reported.
        """
        offsets, refusals = list_offsets(
            self._admin, places, which, committed=self._committed, within_s=ANSWER_WITHIN_S
        )
        for (topic, partition), error in refusals.items():
            self._consumer.poll(0)  # calls `error_cb` for errors that wait to be reported
            errors = describe_errors(self._errors)
            raise BrokerUnreachableError(
                f"the brokers at {self._config['bootstrap.servers']!r} do not describe "
                f"'{topic}-{partition}': {error.args[0].str()}" + (f" ({errors})" if errors else "")
            ) from error
        return offsets


def cut_ranges(ranges: Iterable[OffsetRange], min_partitions: int | None) -> list[OffsetRange]:
    """Return the ranges that are not empty, and cut them if there are fewer than `min_partitions`.

    Longer ranges are cut into more parts. The result may have slightly fewer ranges than asked for, or
    slightly more, because the number of parts of each range is rounded.

    Args:
        ranges: one for each Kafka partition, in order.
        min_partitions: the fewest ranges that there should be; None cuts no range.

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
        # The number of parts is in proportion to the number of offsets, as in Spark's own source. No part may
        # be empty.
        parts = min(max(round(size / total * min_partitions), 1), size)
        edges = [offsets.start + size * part // parts for part in range(parts + 1)]
        cut += [offsets._replace(start=start, end=end) for start, end in pairwise(edges)]
    return cut


def together(ranges: Iterable[OffsetRange], most: int = FEW) -> list[list[OffsetRange]]:
    """Return the ranges of each task: neighbours with few records share a task, in order.

    A task costs Spark 50 to 80 ms, however few records it has.

    Args:
        ranges: ranges that are not empty.
        most: the most records that the ranges of one task may have together; a longer range has a task of its
            own.
    """
    tasks: list[list[OffsetRange]] = []
    room = 0
    for offsets in ranges:
        size = offsets.end - offsets.start
        if size > room:
            tasks.append([])
            room = most
        tasks[-1].append(offsets)
        room -= size
    return tasks
