"""The settings that exactly once requires: they are set if missing, and other values are refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, TopicPartition

from partitioning.clients.delivery import time_setting
from partitioning.clients.java_settings import librdkafka_security
from partitioning.errors import (
    AccessError,
    CopartitionError,
    FencedError,
    GaveUpError,
    InvalidConfigError,
    TopicAccessError,
    UnknownTopicError,
    UnsupportedBrokerError,
)

_MOST_MS = 2**31 - 1
_TRANSACTION_MS = 10_000
_POLL_MS = 300_000
_STRATEGY = "partition.assignment.strategy"

_CONSUMER_MUST = {
    "enable.auto.commit": ("false f 0", "offsets are committed in transactions only"),
    "auto.commit.enable": ("false f 0", "offsets are committed in transactions only"),
    "isolation.level": (
        "read_committed",
        "without it a new owner of a partition may begin before the last one's offsets are settled",
    ),
}
_PRODUCER_MUST = {
    "enable.idempotence": ("true t 1", "a transaction's producer is idempotent"),
    "acks": ("all -1", "what only a leader has can be lost after the commit"),
    "request.required.acks": ("all -1", "what only a leader has can be lost after the commit"),
}


@dataclass(frozen=True)
class LoopSettings:
    """Holds the complete settings of the loop in one process.

    Attributes:
        topics: the topics to read.
        consumer: the consumer's configuration for librdkafka.
        producer: the producer's configuration for librdkafka.
        batch: the most records in a transaction.

    Raises:
        InvalidConfigError: a time in the configurations is invalid.
    """

    topics: tuple[str, ...]
    # Both mappings may hold passwords, so `repr` shows neither of them.
    consumer: Mapping[str, Any] = field(repr=False)
    producer: Mapping[str, Any] = field(repr=False)
    batch: int

    @classmethod
    def of(
        cls, topics: Sequence[str], consumer: Mapping[str, Any], producer: Mapping[str, Any], batch: int
    ) -> LoopSettings:
        """Return these settings, completed by the settings that exactly once requires.

        Raises InvalidConfigError if a setting is missing, invalid, or contradicts the guarantee.
        """
        names: Iterable[object] = () if isinstance(topics, str) else topics
        if not names or not all(isinstance(name, str) and name for name in names):
            raise InvalidConfigError(f"topics is {topics!r}: give a list of names of topics to read")
        size: object = batch
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise InvalidConfigError(f"batch is {batch!r}: give a whole number of records, at least 1")
        _demand("consumer_config", consumer, "group.id", _CONSUMER_MUST)
        _demand("producer_config", producer, "transactional.id", _PRODUCER_MUST)
        defaults = {} if consumer.get("group.protocol") == "consumer" else {_STRATEGY: "cooperative-sticky"}
        return cls(
            tuple(topics),
            {
                "auto.offset.reset": "earliest",
                **defaults,
                **librdkafka_security(consumer),
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            },
            {
                "transaction.timeout.ms": _TRANSACTION_MS,
                "metadata.recovery.strategy": "none",
                # A new client waits for half of this time before it opens its second connection.
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 1000,
                # A transaction with an undelivered record does not commit, so its delivery report is not
                # needed.
                "on_delivery": lambda *_: None,
                **librdkafka_security(producer),
            },
            batch,
        )

    def __post_init__(self) -> None:
        _ = self.turn_s, self.poll_s  # raises for invalid times

    @property
    def turn_s(self) -> float:
        """The seconds that all calls of one turn may take; after that the brokers abort the transaction."""
        return _seconds(self.producer, "transaction.timeout.ms", _TRANSACTION_MS)

    @property
    def poll_s(self) -> float:
        """The seconds that processing a batch may take; after that its partitions go to other members."""
        return _seconds(self.consumer, "max.poll.interval.ms", _POLL_MS)

    @property
    def group(self) -> str:
        """The id of the consumer group."""
        return str(self.consumer["group.id"])

    @property
    def transactional_id(self) -> str:
        """The transactional id of the producer."""
        return str(self.producer["transactional.id"])


def _demand(which: str, config: Mapping[str, Any], needed: str, must: Mapping[str, tuple[str, str]]) -> None:
    if not config.get(needed):
        raise InvalidConfigError(f"{which} has no {needed!r}: exactly once requires it")
    for name, (allowed, why) in must.items():
        if name in config and str(config[name]).lower() not in allowed.split():
            raise InvalidConfigError(
                f"{which} has {name!r} {config[name]!r}, and {allowed.split()[0]!r} is needed: {why}. "
                "Leave it out"
            )


def _seconds(config: Mapping[str, Any], name: str, default: int) -> float:
    return time_setting(config, name, default, _MOST_MS, 1) / 1000


_FENCED = {
    "_FENCED",
    "PRODUCER_FENCED",
    "INVALID_PRODUCER_EPOCH",
    "INVALID_PRODUCER_ID_MAPPING",
    "INVALID_TXN_STATE",  # the brokers had ended the transaction before
}
_UNKNOWN_TOPIC = {"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC"}
_UNSUPPORTED = {"_UNSUPPORTED_FEATURE", "UNSUPPORTED_VERSION"}
# After a failed transaction the producer reports only that its state is not the right one (`_STATE`).
_ENDED = {"_TIMED_OUT", "_TIMED_OUT_QUEUE", "_TRANSPORT", "_STATE", "_FATAL"}
_REBALANCED = {"ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "REBALANCE_IN_PROGRESS"}
_TOO_LARGE = (
    "have process raise a ValueError for a record that is larger than its topic takes, or raise the topic's "
    "max.message.bytes"
)


def advised_error(
    error: KafkaError, settings: LoopSettings, written: Iterable[str] = ()
) -> CopartitionError | None:
    """Return an error that tells the user what to do; None if there is no advice, or a retry may succeed.

    Args:
        error: librdkafka's error.
        settings: the settings of the loop.
        written: the output topics of the transaction that failed, if there is one.
    """
    if (explained := _right(error, settings, written) or _fenced_member(error, settings)) is not None:
        return explained
    if error.txn_requires_abort():
        return None
    return _fenced_producer(error, settings) or _otherwise(error, settings)


def _fenced_member(error: KafkaError, settings: LoopSettings) -> FencedError | None:
    text = error.str()
    # A fenced consumer reports a fatal error, and only its text tells the cause.
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
    """Return the error for a batch that was aborted too often; `error` is the error of the last try."""
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
    """Return the error for a record whose processing took longer than `max.poll.interval.ms`."""
    return GaveUpError(
        f"group {settings.group!r}: processing {record.topic}/{record.partition}/{record.offset} took "
        f"{seconds:.1f} s, longer than max.poll.interval.ms ({settings.poll_s:g} s), so that others have its "
        f"partition: raise max.poll.interval.ms; a batch below {settings.batch} would not help"
    )


def _right(error: KafkaError, settings: LoopSettings, written: Iterable[str]) -> AccessError | None:
    """Return an error that names the missing ACL; None if the error is no refusal of access."""
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
