"""Asks the cluster about its topics before anything is sent."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import confluent_kafka.admin  # the modules, since their classes cannot be pickled

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
_log = logging.getLogger("copartition")
_ADDRESSES = ("bootstrap.servers", "metadata.broker.list")  # two names of one setting


_LONGEST_S = 86_400.0
_NO_ID = str(confluent_kafka.Uuid(0, 0))


class Topics(NamedTuple):
    """The topics that may be written, as the cluster describes them when a write begins.

    Attributes:
        counts: partition count of each topic.
        ids: the cluster's id of each topic, by which one that was deleted and created anew is told from the
            one before; without those of which brokers tell none.
    """

    counts: Mapping[str, int]
    ids: Mapping[str, str]


def first_wait_s(config: Mapping[str, str]) -> float:
    """Return for how many seconds the first question of a write waits for brokers: as long as its records."""
    return min(patience_s(config), _LONGEST_S)


def existing_topics(config: Mapping[str, str], within_s: float = ANSWER_WITHIN_S) -> Topics:
    """Return every topic that this client may see.

    Args:
        config: librdkafka's settings; those of security may be Java's.
        within_s: seconds for a cluster that does not answer.

    Raises:
        InvalidConfigError: librdkafka refuses the configuration, or it names no broker.
        BrokerUnreachableError: no broker answers in time, or it refuses us.
    """
    admin, topics = _ask(config, within_s, None)
    counts = {name: len(topic.partitions) for name, topic in topics.items() if topic.partitions}
    return Topics(counts, _ids(admin, counts))


def partition_count(topic: str, config: Mapping[str, str]) -> int:
    """Return how many partitions a topic has, by the cluster's own account; asking does not create it.

    `config` has librdkafka's settings, "bootstrap.servers" at least; those of security may be Java's. Errors
    are those of `existing_topics`, after 10 s, and UnknownTopicError if the cluster has no such topic.

    >>> partition_count("orders", config)
    12
    """
    return len(partitions_of(topic, _ask(config, ANSWER_WITHIN_S, topic)[1][topic], config))


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


def _ask(
    config: Mapping[str, str], timeout_s: float, topic: str | None
) -> tuple[AdminClient, dict[str, Any]]:
    """Return a client, and what the cluster says about all topics, or about one."""
    errors: list[KafkaError] = []
    admin = _admin(config, errors)
    return admin, first_answer(admin, config, errors, timeout_s=timeout_s, topic=topic).topics


def _admin(config: Mapping[str, str], errors: list[KafkaError]) -> AdminClient:
    if not _address(librdkafka_names(config)):
        raise InvalidConfigError(
            "the settings name no broker: give 'bootstrap.servers', for example 'localhost:9092'"
        )
    # Asked for by name, a topic would else come to be where brokers have `auto.create.topics.enable`.
    settings = {**librdkafka_security(config), "allow.auto.create.topics": False}
    admin: AdminClient = quiet_client(confluent_kafka.admin.AdminClient, settings, errors)
    return admin


def _ids(admin: AdminClient, topics: Collection[str]) -> dict[str, str]:
    """Return the ids of topics, "" for one that is gone, without those of which the cluster tells nothing."""
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
    """Raise TopicChangedError if a topic is gone since its id was asked for, or another has its name.

    Records that were acknowledged before that are lost. Brokers that do not answer are not waited for: the
    records are acknowledged, so that nothing is known to be wrong.
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
    """Return the metadata of all topics, or of one.

    BrokerUnreachableError if no broker answers or lets us in. After a second and a half without an answer a
    warning in the driver's log says so, and why.

    Args:
        client: not used before.
        config: its settings, for the message.
        errors: has what its `error_cb` was called with.
        timeout_s: seconds for a cluster that does not answer.
        topic: the only topic to ask about; None for all.
    """

    def tell(why: str) -> None:
        # Without a handler, as in the processes in which Spark plans, this is a line on standard error.
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
    """Return the brokers that the settings name; "" for none."""
    return next((config[name] for name in _ADDRESSES if config.get(name)), "")


def checked_topics(options: SinkOptions, computed_for: int | None, within_s: float) -> Topics:
    """Return the topics that `options` allow to be written.

    Args:
        options: the write.
        computed_for: the count of the rows' partition column; None if that is not known.
        within_s: seconds for a cluster that does not answer.

    Raises:
        UnknownTopicError: the cluster has no such topic.
        PartitionCountError: the topic has another count than `options` or the column say.
    """
    if options.topic is None:
        return existing_topics(options.config, within_s)
    admin, topics = _ask(options.config, within_s, options.topic)
    actual = len(partitions_of(options.topic, topics[options.topic], options.config))
    # Both are compared with the cluster: an option could hide that the column was made for another count.
    for count in (options.partitions, computed_for):
        check_count(options.topic, actual, count)
    return Topics({options.topic: actual}, _ids(admin, [options.topic]))


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
