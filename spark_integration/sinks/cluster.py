"""Asks the cluster about its topics before anything is sent."""

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import confluent_kafka  # the module, since its classes cannot be pickled

from partitioning.clients.contact import cluster_metadata, quiet_client
from partitioning.clients.java_settings import librdkafka_security
from partitioning.errors import BrokerUnreachableError, InvalidConfigError, UnknownTopicError
from spark_integration.errors import PartitionCountError
from spark_integration.sinks.options import SinkOptions

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

ANSWER_WITHIN_S = 10.0
_ADDRESSES = ("bootstrap.servers", "metadata.broker.list")  # two names of one setting


def partition_counts(config: Mapping[str, str], *, timeout_s: float = ANSWER_WITHIN_S) -> dict[str, int]:
    """Return partition count of every topic this client may see.

    Args:
        config: librdkafka's settings; those of security may be Java's.
        timeout_s: seconds for a cluster that does not answer.

    Raises:
        InvalidConfigError: librdkafka refuses the configuration, or it names no broker.
        BrokerUnreachableError: no broker answers in time, or it refuses us.
    """
    topics = _topics(config, timeout_s, None)
    return {name: len(topic.partitions) for name, topic in topics.items() if topic.partitions}


def partition_count(topic: str, config: Mapping[str, str]) -> int:
    """Return how many partitions a topic has, by the cluster's own account; asking does not create it.

    `config` has librdkafka's settings, "bootstrap.servers" at least; those of security may be Java's. Errors
    are those of `partition_counts`, and UnknownTopicError if the cluster has no such topic.

    >>> partition_count("orders", config)
    12
    """
    return len(partitions_of(topic, _topics(config, ANSWER_WITHIN_S, topic)[topic], config))


def partitions_of(topic: str, metadata: Any, config: Mapping[str, str]) -> list[int]:
    """Return the partitions of a topic by its metadata.

    UnknownTopicError if the cluster has no such topic.
    """
    if not metadata.partitions:
        why = f" ({metadata.error.str()})" if metadata.error is not None else ""
        raise UnknownTopicError(
            f"the cluster at {_address(config)!r} has no topic {topic!r} we may see{why}: create it, or "
            "allow this user Describe on it"
        )
    return sorted(metadata.partitions)


def _topics(config: Mapping[str, str], timeout_s: float, topic: str | None) -> dict[str, Any]:
    """Return what the cluster says about all topics, or about one."""
    if not _address(config):
        raise InvalidConfigError(
            "the settings name no broker: give 'bootstrap.servers', for example 'localhost:9092'"
        )
    errors: list[KafkaError] = []
    # Asked for by name, a topic would else come to be where brokers have `auto.create.topics.enable`.
    config = librdkafka_security(config)
    settings = {**config, "allow.auto.create.topics": False}
    client = quiet_client(confluent_kafka.Producer, settings, errors)
    try:
        return first_answer(client, config, errors, timeout_s=timeout_s, topic=topic).topics  # type: ignore[no-any-return]
    finally:
        with suppress(confluent_kafka.KafkaException, SystemError):  # fatal to a writer only
            client.close()


def first_answer(
    client: Any, config: Mapping[str, str], errors: "list[KafkaError]", *, timeout_s: float, topic: str | None
) -> Any:
    """Return the metadata of all topics, or of one.

    BrokerUnreachableError if no broker answers or lets us in.

    Args:
        client: not used before.
        config: its settings, for the message.
        errors: has what its `error_cb` was called with.
        timeout_s: seconds for a cluster that does not answer.
        topic: the only topic to ask about; None for all.
    """
    try:
        return cluster_metadata(client, config, errors, timeout_s=timeout_s, topic=topic)
    except BrokerUnreachableError as error:
        raise BrokerUnreachableError(
            f"no broker of {_address(config)!r} answers, given up to {timeout_s:g} s: "
            f"{error}. Is the address right, the broker up, and do the security settings fit the cluster?"
        ) from error


def _address(config: Mapping[str, str]) -> str:
    """Return the brokers that the settings name; "" for none."""
    return next((config[name] for name in _ADDRESSES if config.get(name)), "")


def checked_counts(options: "SinkOptions", computed_for: int | None) -> dict[str, int]:
    """Return partition counts of the topics that `options` allow to be written.

    `computed_for` is the count of the rows' partition column; None if that is not known.

    Raises:
        UnknownTopicError: the cluster has no such topic.
        PartitionCountError: the topic has another count than `options` or the column say.
    """
    if options.topic is None:
        return partition_counts(options.config)
    actual = partition_count(options.topic, options.config)
    # Both are compared with the cluster: an option could hide that the column was made for another count.
    for count in (options.partitions, computed_for):
        check_count(options.topic, actual, count)
    return {options.topic: actual}


def check_count(topic: str, actual: int, computed_for: int | None) -> None:
    """Raise PartitionCountError if partitions were computed for another (known) count than the topic has.

    Args:
        topic: for the message.
        actual: partitions of the topic.
        computed_for: the count by which rows were placed; None if it is not known.
    """
    # A count that is too small is accepted by every broker, and puts keys elsewhere than other producers do.
    if computed_for not in {None, actual}:
        raise PartitionCountError(
            f"column 'partition' was computed for {computed_for} partitions, and topic {topic!r} has "
            f"{actual}: compute it with kafka_partition(key, {actual})"
        )


def check_unchanged(topic: str, before: int, now: int) -> None:
    """Raise PartitionCountError if a topic's count has changed since the write of its rows began.

    Args:
        topic: for the message.
        before: partitions when the write began.
        now: partitions as the cluster says now.
    """
    if now != before:
        raise PartitionCountError(
            f"topic {topic!r} had {before} partitions when this write began and has {now} now: compute "
            f"column 'partition' with kafka_partition(key, {now}) and write these rows again; some may be "
            "written already"
        )
