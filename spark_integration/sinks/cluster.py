"""What the cluster says about its topics before anything is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_integration.errors import (
    BrokerUnreachableError,
    PartitionCountError,
    SinkConfigError,
    UnknownTopicError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from confluent_kafka import KafkaError

    from spark_integration.sinks.options import SinkOptions

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

    reasons: list[KafkaError] = []
    try:
        client = Producer({**config, "error_cb": reasons.append, "log_level": 0})
    except (KafkaException, ValueError, TypeError) as error:
        raise SinkConfigError(f"librdkafka refuses the 'kafka.' options: {error}") from error
    try:
        topics = client.list_topics(timeout=timeout_s).topics
    except KafkaException as error:
        client.poll(0)
        why = "; ".join(dict.fromkeys(reason.str() for reason in reasons)) or str(error)
        raise BrokerUnreachableError(
            f"no broker of {config['bootstrap.servers']!r} answered within {timeout_s:g} s: {why}. "
            "Is the address right, the broker up, and are the security settings those of the cluster?"
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


def checked_counts(options: SinkOptions) -> dict[str, int]:
    """Partition counts of the topics that `options` allow to be written.

    Raises:
        UnknownTopicError: the cluster has no such topic.
        PartitionCountError: the topic has another count than the option `partitions` says.
    """
    if options.topic is None:
        return partition_counts(options.config)
    actual = partition_count(options.topic, options.config)
    if options.partitions not in {None, actual}:
        raise PartitionCountError(
            f"topic {options.topic!r} has {actual} partitions, not {options.partitions}: compute the "
            f"partition column with kafka_partition(key, {actual})"
        )
    return {options.topic: actual}
