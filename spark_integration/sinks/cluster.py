"""Ask the cluster about its topics before anything is sent."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import confluent_kafka.admin  # only modules, because their classes cannot be pickled

from partitioning.clients.contact import cluster_metadata, quiet_client
from partitioning.clients.delivery import patience_s
from partitioning.clients.java_settings import librdkafka_security
from partitioning.errors import (
    BrokerUnreachableError,
    InvalidConfigError,
    TopicChangedError,
    UnknownTopicError,
)
from spark_integration.errors import PartitionCountError
from spark_integration.sinks.options import SinkOptions, librdkafka_names

if TYPE_CHECKING:
    from confluent_kafka import KafkaError
    from confluent_kafka.admin import AdminClient

ANSWER_WITHIN_S = 10.0
"""Seconds that one question waits for its answer."""

_log = logging.getLogger("copartition")
_ADDRESSES = ("bootstrap.servers", "metadata.broker.list")  # two names of one setting


_LONGEST_S = 86_400.0
"""Seconds that a write waits for brokers at most, even if its records may wait for ever."""

_NO_ID = str(confluent_kafka.Uuid(0, 0))
"""The topic id in the answer of a broker that knows no topic ids."""


class WritableTopics(NamedTuple):
    """Holds the topics that may be written, as the cluster describes them when a write begins.

    Attributes:
        counts: partition count of each topic.
        ids: the cluster's id of each topic. A topic that is deleted and created again gets another id.
            Topics whose id the brokers do not tell are left out.
    """

    counts: Mapping[str, int]
    ids: Mapping[str, str]


def first_wait_s(config: Mapping[str, str]) -> float:
    """Return how many seconds a write's first question waits for brokers: as long as a record may wait."""
    return min(patience_s(config), _LONGEST_S)


def existing_topics(config: Mapping[str, str], within_s: float = ANSWER_WITHIN_S) -> WritableTopics:
    """Return all topics that this client may see.

    Args:
        config: librdkafka's settings; those of security may have the Java client's names.
        within_s: seconds to wait for an answer.

    Raises:
        InvalidConfigError: librdkafka refuses the configuration, or it names no broker.
        BrokerUnreachableError: no broker answers in time, or it refuses us.
    """
    admin, topics = _ask(config, within_s, None)
    counts = {name: len(topic.partitions) for name, topic in topics.items() if topic.partitions}
    return WritableTopics(counts, _ids(admin, counts))


def partition_count(topic: str, config: Mapping[str, str]) -> int:
    """Return how many partitions a topic has in the cluster; asking does not create it.

    >>> partition_count("orders", config)
    12

    Args:
        topic: name of the topic.
        config: librdkafka's settings, "bootstrap.servers" at least; those of security may have the Java
            client's names.

    Raises:
        UnknownTopicError: the cluster has no such topic, or this user may not see it.
        InvalidConfigError: librdkafka refuses the configuration, or it names no broker.
        BrokerUnreachableError: no broker answers within 10 seconds, or it refuses us.
    """
    return len(partition_numbers(topic, _ask(config, ANSWER_WITHIN_S, topic)[1][topic], config))


def partition_numbers(topic: str, metadata: Any, config: Mapping[str, str]) -> list[int]:
    """Return the partition numbers in a topic's metadata, ascending.

    Raises UnknownTopicError if the metadata has no partitions: the topic does not exist, or this user may not
    see it.
    """
    if not metadata.partitions:
        why = f" ({metadata.error.str()})" if metadata.error is not None else ""
        raise UnknownTopicError(
            f"the cluster at {_address(config)!r} has no topic {topic!r} we may see{why}: create it, or "
            "allow this user Describe on it"
        )
    return sorted(metadata.partitions)


def _ask(
    config: Mapping[str, str], timeout_s: float, topic: str | None
) -> tuple[AdminClient, dict[str, Any]]:
    """Return a new admin client, and topic -> metadata of all topics or of one; see `first_answer`."""
    errors: list[KafkaError] = []
    admin = _admin(config, errors)
    return admin, first_answer(admin, config, errors, timeout_s=timeout_s, topic=topic).topics


def _admin(config: Mapping[str, str], errors: list[KafkaError]) -> AdminClient:
    if not _address(librdkafka_names(config)):
        raise InvalidConfigError(
            "the settings name no broker: give 'bootstrap.servers', for example 'localhost:9092'"
        )
    # Without this setting, brokers with `auto.create.topics.enable` would create a topic that is asked for by
    # its name.
    settings = {**librdkafka_security(config), "allow.auto.create.topics": False}
    admin: AdminClient = quiet_client(confluent_kafka.admin.AdminClient, settings, errors)
    return admin


def _ids(admin: AdminClient, topics: Collection[str]) -> dict[str, str]:
    """Return topic -> id; "" for a topic that is gone. Topics without an id in the cluster are left out."""
    if not topics:
        return {}
    collection = confluent_kafka.TopicCollection([*topics])
    ids = {}
    for name, answer in admin.describe_topics(collection, request_timeout=ANSWER_WITHIN_S).items():
        try:
            ids[name] = str(answer.result().topic_id)
        except confluent_kafka.KafkaException as error:
            if error.args[0].name() == "UNKNOWN_TOPIC_OR_PART":
                ids[name] = ""
    return {name: topic_id for name, topic_id in ids.items() if topic_id != _NO_ID}


def check_same_topics(config: Mapping[str, str], ids: Mapping[str, str]) -> None:
    """Raise TopicChangedError if a topic was deleted since its id was asked for, even if it exists again.

    Records that were acknowledged before the topic was deleted are lost. Nothing is raised if brokers do not
    answer: all records are acknowledged, so nothing is known to be wrong.

    Args:
        config: librdkafka's settings.
        ids: topic -> its id when the write began.
    """
    now = _ids(_admin(config, []), ids.keys())
    for name, topic_id in ids.items():
        if now.get(name, topic_id) != topic_id:
            raise TopicChangedError(
                f"topic {name!r} was deleted{' and created anew' if now[name] else ''} while this write ran: "
                "of its records those that were written before are gone. Write all of them again"
            )


def first_answer(
    client: Any, config: Mapping[str, str], errors: list[KafkaError], *, timeout_s: float, topic: str | None
) -> Any:
    """Return the cluster's metadata of all topics, or of one.

    After a second and a half without an answer, a warning in the driver's log says so and why.

    Args:
        client: a consumer or an admin client.
        config: the client's settings, for messages.
        errors: the list to which the client's `error_cb` adds errors.
        timeout_s: seconds to wait for an answer.
        topic: the only topic to ask about; None for all.

    Raises:
        BrokerUnreachableError: no broker answers in time, or the brokers refuse this client.
    """

    def tell(why: str) -> None:
        # Python processes in which Spark plans have no log handler, so there this warning goes to standard
        # error.
        address = _address(config)
        _log.warning("copartition: no broker of %r answers yet, given %g s: %s", address, timeout_s, why)

    try:
        return cluster_metadata(client, config, errors, timeout_s=timeout_s, topic=topic, tell=tell)
    except BrokerUnreachableError as error:
        raise BrokerUnreachableError(
            f"no broker of {_address(config)!r} answers, given up to {timeout_s:g} s: "
            f"{error}. Is the address right, the broker up, and do the security settings fit the cluster?"
        ) from error


def _address(config: Mapping[str, str]) -> str:
    """Return the bootstrap servers that the settings name; "" if they name none."""
    return next((config[name] for name in _ADDRESSES if config.get(name)), "")


def writable_topics(options: SinkOptions, computed_for: int | None, within_s: float) -> WritableTopics:
    """Return the topics that may be written: the topic of the options, or all if the rows name theirs.

    Args:
        options: the options of the write.
        computed_for: the partition count for which the rows' partitions were computed; None if unknown.
        within_s: seconds to wait for an answer.

    Raises:
        UnknownTopicError: the cluster has no such topic.
        PartitionCountError: the topic has another count than the options or `computed_for` say.
        InvalidConfigError, BrokerUnreachableError: as in `existing_topics`.
    """
    if options.topic is None:
        return existing_topics(options.config, within_s)
    admin, topics = _ask(options.config, within_s, options.topic)
    actual = len(partition_numbers(options.topic, topics[options.topic], options.config))
    # Both counts are compared with the cluster's. The option alone could hide that the column was computed
    # for another count.
    for count in (options.partitions, computed_for):
        check_partition_count(options.topic, actual, count)
    return WritableTopics({options.topic: actual}, _ids(admin, [options.topic]))


def check_partition_count(topic: str, actual: int, computed_for: int | None) -> None:
    """Raise PartitionCountError if partitions were computed for another count than the topic has.

    Args:
        topic: name of the topic, for the message.
        actual: partition count of the topic.
        computed_for: the count for which rows were placed; None if it is unknown, which raises nothing.
    """
    # Brokers accept rows that were placed for a smaller count, but then keys lie elsewhere than other
    # producers put them.
    if computed_for not in {None, actual}:
        raise PartitionCountError(
            f"column 'partition' was computed for {computed_for} partitions, and topic {topic!r} has "
            f"{actual}: compute it with kafka_partition(key, {actual})"
        )


def check_unchanged(topic: str, before: int, now: int) -> None:
    """Raise PartitionCountError if a topic's partition count has changed since the write began.

    Args:
        topic: name of the topic, for the message.
        before: the topic's partition count when the write began.
        now: the topic's partition count now.
    """
    if now != before:
        raise PartitionCountError(
            f"topic {topic!r} had {before} partitions when this write began and has {now} now: compute "
            f"column 'partition' with kafka_partition(key, {now}) and write these rows again; some may be "
            "written already"
        )
