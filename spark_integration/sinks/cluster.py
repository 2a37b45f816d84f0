"""What the cluster says about its topics before anything is sent."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from spark_integration.errors import (
    BrokerUnreachableError,
    PartitionCountError,
    SinkConfigError,
    UnknownTopicError,
)
from spark_integration.sinks.options import SinkOptions

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

ANSWER_WITHIN_S = 10.0


def partition_counts(config: Mapping[str, str], *, timeout_s: float = ANSWER_WITHIN_S) -> dict[str, int]:
    """Partition count of every topic this client may see.

    Lists all topics: asking for one by name would let a broker with `auto.create.topics.enable` create it.

    Args:
        config: librdkafka's producer configuration.
        timeout_s: how long to wait for a broker.

    Raises:
        SinkConfigError: librdkafka refuses the configuration.
        BrokerUnreachableError: no broker answers in time, or it refuses us.
    """
    from confluent_kafka import KafkaException, Producer  # noqa: PLC0415 - optional

    from partitioning.clients import errors  # noqa: PLC0415 - needs it, too
    from partitioning.clients.contact import cluster_metadata  # noqa: PLC0415 - needs it, too

    heard: list[KafkaError] = []
    try:
        client = Producer({**config, "error_cb": heard.append, "log_level": 0})
    except (KafkaException, ValueError, TypeError) as error:
        raise SinkConfigError(f"librdkafka refuses the 'kafka.' options: {error}") from error
    with client:
        try:
            topics = cluster_metadata(client, heard, timeout_s=timeout_s).topics
        except errors.BrokerUnreachableError as error:
            raise BrokerUnreachableError(
                f"no broker of {config['bootstrap.servers']!r} answers, given up to {timeout_s:g} s: "
                f"{error}. Is the address right, the broker up, and do the security settings fit the cluster?"
            ) from error
    return {name: len(topic.partitions) for name, topic in topics.items() if topic.partitions}


def partition_count(topic: str, config: Mapping[str, str]) -> int:
    """How many partitions a topic has, by the cluster's own account.

    Args:
        topic: its name.
        config: librdkafka's settings to reach the cluster with, "bootstrap.servers" at least.

    Raises:
        UnknownTopicError: the cluster has no such topic.
        BrokerUnreachableError: no broker answers within 10 seconds.
        SinkConfigError: librdkafka refuses the settings.
    """
    counts = partition_counts(config)
    if topic not in counts:
        raise UnknownTopicError(
            f"the cluster at {config['bootstrap.servers']!r} has no topic {topic!r} we may see: create it"
        )
    return counts[topic]


def checked_counts(options: SinkOptions, computed_for: int | None) -> dict[str, int]:
    """Partition counts of the topics that `options` allow to be written.

    Args:
        options: where to write.
        computed_for: the count of the rows' partition column; None where that is not known.

    Raises:
        UnknownTopicError: the cluster has no such topic.
        PartitionCountError: the topic has another count than `options` or the column say.
    """
    if options.topic is None:
        return partition_counts(options.config)
    actual = partition_count(options.topic, options.config)
    for count in (options.partitions, computed_for):
        check_count(options.topic, actual, count)
    return {options.topic: actual}


def check_count(topic: str, actual: int, computed_for: int | None) -> None:
    """Raise if partitions were computed for another count than the topic has.

    Args:
        topic: its name.
        actual: its partition count.
        computed_for: the count of the rows' partition column; None where that is not known.

    Raises:
        PartitionCountError: they differ.
    """
    if computed_for not in {None, actual}:
        raise PartitionCountError(
            f"column 'partition' was computed for {computed_for} partitions, and topic {topic!r} has "
            f"{actual}: compute it with kafka_partition(key, {actual})"
        )


def check_unchanged(before: Mapping[str, int], now: Mapping[str, int]) -> None:
    """Raise if a topic has another partition count than when its rows were sent.

    Args:
        before: partition counts of the topics that were written.
        now: those of the cluster's topics.

    Raises:
        PartitionCountError: one differs.
    """
    for topic, count in before.items():
        if (actual := now.get(topic, 0)) != count:
            raise PartitionCountError(
                f"topic {topic!r} had {count} partitions when this write began and has {actual} now: "
                "all rows were acknowledged, but some may not be where the topic as it is has their keys. "
                f"Compute column 'partition' with kafka_partition(key, {actual}) and write these rows again"
            )
