"""What the cluster's refusals mean for a loop, and what to do about each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partitioning.errors import (
    AccessError,
    FencedError,
    GaveUpError,
    InvalidConfigError,
    TopicAccessError,
    UnknownTopicError,
    UnsupportedBrokerError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from confluent_kafka import KafkaError, TopicPartition

    from partitioning.clients.read_process_write.settings import LoopSettings
    from partitioning.errors import CopartitionError

_FENCED = {
    "_FENCED",
    "PRODUCER_FENCED",
    "INVALID_PRODUCER_EPOCH",
    "INVALID_PRODUCER_ID_MAPPING",
    "INVALID_TXN_STATE",  # of a transaction that the brokers ended before
}
_UNKNOWN_TOPIC = {"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC"}
_UNSUPPORTED = {"_UNSUPPORTED_FEATURE", "UNSUPPORTED_VERSION"}
# A producer whose transaction has failed already says no more than that its state is not the right one.
_ENDED = {"_TIMED_OUT", "_TIMED_OUT_QUEUE", "_TRANSPORT", "_STATE", "_FATAL"}
_REBALANCED = {"ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "REBALANCE_IN_PROGRESS"}
_TOO_LARGE = (
    "have process raise a ValueError for a record that is larger than its topic takes, or raise the topic's "
    "max.message.bytes"
)


def meaning(
    error: KafkaError, settings: LoopSettings, written: Iterable[str] = ()
) -> CopartitionError | None:
    """The error that names what to do; None where there is nothing to add, or another try may mend it.

    Args:
        error: what librdkafka says.
        settings: of the loop.
        written: the topics of the transaction that it says it of, if it is about one.
    """
    if (explained := _right(error, settings, written) or _fenced_member(error, settings)) is not None:
        return explained
    if error.txn_requires_abort():
        return None
    return _fenced_producer(error, settings) or _otherwise(error, settings)


def _fenced_member(error: KafkaError, settings: LoopSettings) -> FencedError | None:
    text = error.str()
    # A consumer that is fenced says so in words only, as it does of every fatal error.
    if error.name() != "FENCED_INSTANCE_ID" and not (error.fatal() and "group.instance.id" in text):
        return None
    return FencedError(
        f"group {settings.group!r}: another process has our group.instance.id "
        f"{settings.consumer.get('group.instance.id')!r}. Where it has replaced this one, nothing is to be "
        f"done; else give each process a name of its own: {text}"
    )


def _fenced_producer(error: KafkaError, settings: LoopSettings) -> FencedError | None:
    text = error.str()
    if error.name() not in _FENCED and "fenced" not in text.lower():
        return None
    return FencedError(
        f"transactional id {settings.transactional_id!r}: another process has it, or a transaction took "
        f"longer than transaction.timeout.ms ({settings.turn_s:g} s). If this process was replaced, nothing "
        f"is to be done; else give each a transactional.id of its own, or take smaller batches: {text}"
    )


def _otherwise(error: KafkaError, settings: LoopSettings) -> CopartitionError | None:
    name, text = error.name(), error.str()
    if name == "INVALID_TRANSACTION_TIMEOUT":
        return InvalidConfigError(
            f"'transaction.timeout.ms' is {settings.producer['transaction.timeout.ms']}, above the brokers' "
            "transaction.max.timeout.ms (15 minutes unless set): lower it"
        )
    if name in _UNSUPPORTED:
        return UnsupportedBrokerError(
            f"transactional id {settings.transactional_id!r}: the brokers know no transactions that the "
            f"group fences; upgrade them to 2.5 or later: {text}"
        )
    if name in _UNKNOWN_TOPIC:
        return UnknownTopicError(f"a topic is not there, or hidden from us: create it first: {text}")
    if name in _ENDED or error.retriable():
        return GaveUpError(
            f"transactional id {settings.transactional_id!r}: a transaction could not be ended within "
            f"{settings.turn_s:g} s (transaction.timeout.ms). Start the process again: it goes on where the "
            f"last transaction was committed. Where that does not help, look at the brokers: {text} ({name})"
        )
    return None


def gave_up(aborts: int, error: KafkaError, settings: LoopSettings) -> GaveUpError:
    """The error for a batch that was aborted so often."""
    name = error.name()
    way_out = "another try would not help, so look at the brokers and at this batch"
    if name in _REBALANCED:
        way_out = (
            "the group loses this member before a batch is written: take smaller batches, or raise "
            "max.poll.interval.ms and session.timeout.ms"
        )
    elif name == "MSG_SIZE_TOO_LARGE":
        way_out = _TOO_LARGE
    elif name == "_UNKNOWN_PARTITION":
        way_out = "an output names a partition that its topic does not have"
    return GaveUpError(
        f"group {settings.group!r}, transactional id {settings.transactional_id!r}: {aborts} transactions in "
        f"a row were aborted, the last for {name} ({error.str()}): {way_out}"
    )


def took_too_long(record: TopicPartition, seconds: float, settings: LoopSettings) -> GaveUpError:
    """The error for a record that was processed for longer than the group waits."""
    return GaveUpError(
        f"group {settings.group!r}: processing {record.topic}/{record.partition}/{record.offset} took "
        f"{seconds:.1f} s, longer than max.poll.interval.ms ({settings.poll_s:g} s), so that others have its "
        f"partition: raise max.poll.interval.ms; a batch below {settings.batch} would not help"
    )


def _right(error: KafkaError, settings: LoopSettings, written: Iterable[str]) -> AccessError | None:
    """The ACL that is missing."""
    name = error.name()
    if name == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED":
        return AccessError(
            f"transactional id {settings.transactional_id!r}: this user needs WRITE on it; add that ACL"
        )
    if name == "GROUP_AUTHORIZATION_FAILED":
        return AccessError(f"group {settings.group!r}: this user needs READ on it; add that ACL")
    if name == "TOPIC_AUTHORIZATION_FAILED":
        topics = sorted(written)
        right, which = ("WRITE", topics) if topics else ("READ", settings.topics)
        return TopicAccessError(
            f"topic {' or '.join(map(repr, which))}: this user needs {right} on it; add that ACL: "
            f"{error.str()}"
        )
    if name == "CLUSTER_AUTHORIZATION_FAILED":
        return AccessError(
            f"transactional id {settings.transactional_id!r}: this user may write to no topic, so the "
            "cluster refuses it an idempotent producer; add the ACL WRITE on the topics that it writes"
        )
    return None
