"""Says what the cluster's refusals mean, and which of them another try mends."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any

import confluent_kafka  # the module, since its classes cannot be pickled

from partitioning.clients.contact import connected_metadata, pause
from partitioning.errors import (
    AccessError,
    CopartitionError,
    DeliveryError,
    InvalidConfigError,
    UnknownTopicError,
)

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Producer, TopicPartition

ANSWER_WITHIN_S = 10.0
PATIENCE_S = 60.0
"""Seconds that a broker that goes away in the middle of a write may stay away."""

_PASSING = (
    "NOT_COORDINATOR",
    "COORDINATOR_NOT_AVAILABLE",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "UNSTABLE_OFFSET_COMMIT",
    "_TIMED_OUT",
    "_TRANSPORT",
    "_WAIT_COORD",
)
"""Errors of a coordinator that moves; librdkafka does not always call them worth another try."""
_FENCED = ("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_ID_MAPPING")


def patiently(call: Callable[[float], Any], within_s: float = PATIENCE_S) -> Any:
    """Return the result of a call, which gets the seconds it may take, once the cluster can answer it.

    KafkaException if it failed for good, or for too long.

    Args:
        call: gets the seconds that are left, at least 0.1.
        within_s: how long an error that passes by itself is tried again.
    """
    deadline = time.monotonic() + within_s
    while True:
        try:
            return call(max(deadline - time.monotonic(), 0.1))
        except confluent_kafka.KafkaException as error:
            if not is_passing(error.args[0]) or time.monotonic() >= deadline:
                raise
            # librdkafka may answer at once from what it knows; asking without a pause would keep a core busy.
            pause(0.1)


def call_within(call: Callable[[], Any], within_s: float) -> Any:
    """Return the result of a call that may not return although it got a timeout.

    TimeoutError if it has not.

    librdkafka may wait without end for a group's coordinator that went away (confluentinc/librdkafka issues
    5456 and 5511). The call is left behind, and what it holds.
    """
    ended = Future[Any]()

    def run() -> None:
        try:
            ended.set_result(call())
        except BaseException as error:  # noqa: BLE001 - it is raised where the call is waited for
            ended.set_exception(error)

    # A daemon: at its end Python waits for any other thread.
    Thread(target=run, daemon=True).start()
    return ended.result(within_s)


def begin(producer: Producer, topic: str) -> int:
    """Fence who had this transactional id before, end what that left open, and return the partition count.

    Args:
        producer: has the transactional id, and is not initialised.
        topic: whose partitions are counted.

    Raises:
        KafkaException: the brokers refuse, do not answer for `PATIENCE_S`, or have no such topic.
    """

    def ask(within_s: float) -> Any:
        metadata = producer.list_topics(topic, timeout=min(within_s, ANSWER_WITHIN_S))
        if metadata.topics[topic].error is not None:
            raise confluent_kafka.KafkaException(metadata.topics[topic].error)
        return metadata

    # The connection stays, so the producer gets its id at once (see there).
    metadata = connected_metadata(partial(patiently, ask))
    patiently(producer.init_transactions)
    return len(metadata.topics[topic].partitions)


def check_readable(places: Sequence[TopicPartition]) -> Sequence[TopicPartition]:
    """Committed offsets, each of which could be read.

    KafkaException where one could not, as while a transaction is open that would change it.
    """
    for place in places:
        if place.error is not None:
            raise confluent_kafka.KafkaException(place.error)
    return places


def close(producer: Producer) -> None:
    """Leave no connection; what is still queued belongs to no transaction that could be committed."""
    with suppress(confluent_kafka.KafkaException, SystemError):  # a fatal error is raised once more
        producer.purge()
        producer.close()


def is_passing(error: KafkaError) -> bool:
    """Return whether another try may mend it."""
    return error.retriable() or error.name() in _PASSING


def is_fenced(error: KafkaError) -> bool:
    """Return whether another producer has the same id, or the brokers ended a transaction for its age."""
    return error.name() in _FENCED


def meaning(error: KafkaError, app_id: str, topic: str) -> CopartitionError:
    """Return the error that names what to do about it.

    Args:
        error: of librdkafka.
        app_id: who writes.
        topic: the topic that is written.
    """
    name, text = error.name(), error.str()
    if name == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED":
        return AccessError(
            f"the cluster refuses transactions to application {app_id!r}: allow Write and Describe on "
            f"transactional ids with the prefix 'copartition/{app_id}/'"
        )
    if name == "GROUP_AUTHORIZATION_FAILED":
        return group_refusal(app_id)
    if name in {"TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"}:
        return topic_refusal(topic)
    if name == "UNKNOWN_TOPIC_OR_PART":
        return UnknownTopicError(f"the cluster has no topic {topic!r} we may see: create it")
    if name == "INVALID_TRANSACTION_TIMEOUT":
        return InvalidConfigError(
            "'kafka.transaction.timeout.ms' is above the brokers' transaction.max.timeout.ms (15 minutes "
            "unless set): lower it. A version may take longer, as it is written in many transactions"
        )
    if name in {"_MSG_TIMED_OUT", "_TIMED_OUT"}:
        text += (
            ". Brokers that need longer need higher 'kafka.transaction.timeout.ms' and "
            "'kafka.delivery.timeout.ms', 9000 unless set"
        )
    if name == "UNSTABLE_OFFSET_COMMIT":
        text += (
            " They keep a transaction of the ledger open that nobody has, as brokers can that were restarted "
            "amid it: docs/exactly-once.md says how to go on"
        )
    return DeliveryError(f"topic {topic!r}, written by {app_id!r}: {text or 'the cluster says'} ({name})")


def group_refusal(app_id: str) -> AccessError:
    """Return what to grant for the ledger's group."""
    return AccessError(
        f"the cluster refuses the ledger of application {app_id!r}: allow Read and Describe on group "
        f"'copartition/{app_id}'"
    )


def topic_refusal(topic: str) -> AccessError:
    """Return what to grant for the topic."""
    return AccessError(
        f"the cluster refuses topic {topic!r}: allow Write, Read and Describe on it; the ledger's entries "
        "are committed offsets of this topic, for which Kafka asks for Read"
    )
