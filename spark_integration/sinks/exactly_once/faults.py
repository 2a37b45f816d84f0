"""Turn the cluster's refusals into errors that say what to do; retry those that pass by themselves."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any

import confluent_kafka  # only the module, because its classes cannot be pickled

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
"""Seconds that one request waits for its answer."""

PATIENCE_S = 60.0
"""Seconds for which requests are tried again if a broker goes away in the middle of a write."""

_PASSING = (
    "NOT_COORDINATOR",
    "COORDINATOR_NOT_AVAILABLE",
    "COORDINATOR_LOAD_IN_PROGRESS",
    "UNSTABLE_OFFSET_COMMIT",
    "_TIMED_OUT",
    "_TRANSPORT",
    "_WAIT_COORD",
)
"""Errors while a coordinator moves, which pass by themselves; librdkafka does not mark all as retriable."""

_FENCED = ("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_ID_MAPPING")
"""Errors of a producer whose transactional id a newer producer has taken over."""


def patiently(call: Callable[[float], Any], within_s: float = PATIENCE_S) -> Any:
    """Return the result of a call; repeat it while it fails with an error that passes by itself.

    Args:
        call: gets the seconds that are left, at least 0.1, and may take that long.
        within_s: number of seconds for which the call is repeated.

    Raises:
        KafkaException: the call failed with another error, or failed for `within_s` seconds.
    """
    deadline = time.monotonic() + within_s
    while True:
        try:
            return call(max(deadline - time.monotonic(), 0.1))
        except confluent_kafka.KafkaException as error:
            if not is_passing(error.args[0]) or time.monotonic() >= deadline:
                raise
            # librdkafka may fail at once, without asking a broker. A loop without a pause would keep a core
            # busy.
            pause(0.1)


def call_within(call: Callable[[], Any], within_s: float) -> Any:
    """Return the result of a call that may never return, although it got a timeout of its own.

    librdkafka may wait for ever for a group's coordinator that went away (confluentinc/librdkafka issues 5456
    and 5511). The call runs in a thread. If it does not return, the thread and the objects that it uses are
    left behind.

    Args:
        call: returns a result, or raises an error, which is then raised here.
        within_s: seconds to wait.

    Raises:
        TimeoutError: the call has not returned in time.
    """
    ended = Future[Any]()

    def run() -> None:
        try:
            ended.set_result(call())
        except BaseException as error:  # noqa: BLE001 - it is raised where the call is waited for
            ended.set_exception(error)

    # The thread is a daemon, because Python waits at its end for every other thread.
    Thread(target=run, daemon=True).start()
    return ended.result(within_s)


def begin(producer: Producer, topic: str) -> int:
    """Initialise a producer's transactions, and return the partition count of a topic.

    This fences every earlier producer with the same transactional id, and ends the transaction that it has
    left open.

    Args:
        producer: has the transactional id, and is not initialised yet.
        topic: the topic whose partitions are counted.

    Raises:
        KafkaException: the brokers refuse, do not answer for `PATIENCE_S`, or have no such topic.
    """

    def ask(within_s: float) -> Any:
        metadata = producer.list_topics(topic, timeout=min(within_s, ANSWER_WITHIN_S))
        if metadata.topics[topic].error is not None:
            raise confluent_kafka.KafkaException(metadata.topics[topic].error)
        return metadata

    # Metadata is asked for first, because that makes the connection over which the producer then gets its id
    # without a wait; see `connected_metadata`.
    metadata = connected_metadata(partial(patiently, ask))
    patiently(producer.init_transactions)
    return len(metadata.topics[topic].partitions)


def check_readable(places: Sequence[TopicPartition]) -> Sequence[TopicPartition]:
    """Return committed offsets unchanged if every one of them could be read.

    Raises KafkaException if one could not be read, for example while an open transaction would change it.
    """
    for place in places:
        if place.error is not None:
            raise confluent_kafka.KafkaException(place.error)
    return places


def close(producer: Producer) -> None:
    """Close a producer's connections and drop its queued records.

    No transaction is open, so the queued records could not be committed any more.
    """
    # After a fatal error each call raises that error again.
    with suppress(confluent_kafka.KafkaException, SystemError):
        producer.purge()
        producer.close()


def is_passing(error: KafkaError) -> bool:
    """Return whether the same request may succeed if it is sent again."""
    return error.retriable() or error.name() in _PASSING


def is_fenced(error: KafkaError) -> bool:
    """Return whether a newer producer took over the id, or brokers aborted a transaction for its age."""
    return error.name() in _FENCED


def meaning(error: KafkaError, app_id: str, topic: str) -> CopartitionError:
    """Return our own error for an error of librdkafka; its message says what to do.

    Args:
        error: the error of librdkafka.
        app_id: the application's id, named in the message.
        topic: the topic that is written, named in the message.
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
    """Return the error for a refused ledger group; it names the operations to allow."""
    return AccessError(
        f"the cluster refuses the ledger of application {app_id!r}: allow Read and Describe on group "
        f"'copartition/{app_id}'"
    )


def topic_refusal(topic: str) -> AccessError:
    """Return the error for a refused topic; it names the operations to allow."""
    return AccessError(
        f"the cluster refuses topic {topic!r}: allow Write, Read and Describe on it; the ledger's entries "
        "are committed offsets of this topic, for which Kafka asks for Read"
    )
