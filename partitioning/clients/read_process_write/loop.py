"""The loop: reads records, calls `process`, and writes outputs and offsets in one transaction."""

from __future__ import annotations

import faulthandler
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from logging.handlers import BufferingHandler
from threading import Event
from typing import TYPE_CHECKING, Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from partitioning.clients.confluent import PartitioningProducer
from partitioning.clients.contact import cluster_metadata, connected_metadata, machine_faults
from partitioning.clients.delivery import why_failed
from partitioning.clients.read_process_write.member import LoopMember, following, record_place
from partitioning.clients.read_process_write.settings import (
    LoopSettings,
    advised_error,
    gave_up,
    took_too_long,
)
from partitioning.clients.topics import ANY_PARTITION
from partitioning.errors import (
    InvalidConfigError,
    MisplacedRecordError,
    UnknownTopicError,
    UnsupportedBrokerError,
)
from partitioning.interface import Partitioner

if TYPE_CHECKING:
    from confluent_kafka._types import HeadersType

HUNG_AFTER_S = 5.0
"""The seconds by which a call of librdkafka may exceed its limit before the process is ended."""
_WATCH_AGAIN_S = 1.0
CONNECTED_WITHIN_S = 1.0
"""The seconds to wait for a connection, with which a producer gets its id at once."""
MOST_ABORTS = 5
"""The number of aborted transactions in a row after which the loop gives up."""

log = logging.getLogger("partitioning.clients.read_process_write")


class ProducerRecord(NamedTuple):
    """A record to write, as `PartitioningProducer.produce` takes it.

    Attributes:
        topic: the topic to write to.
        value: the serialized value; None is a tombstone.
        key: the serialized key; None for a null key.
        partition: an explicit partition; `ANY_PARTITION` lets the strategy decide.
        timestamp: milliseconds since 1970; 0 stands for now.
        headers: names and values; None for no headers.
    """

    topic: str
    value: str | bytes | None = None
    key: str | bytes | None = None
    partition: int = ANY_PARTITION
    timestamp: int = 0
    headers: HeadersType | None = None


def read_process_write(
    topics: Sequence[str],
    process: Callable[[Message], Iterable[ProducerRecord]],
    *,
    consumer_config: Mapping[str, Any],
    producer_config: Mapping[str, Any],
    stopping: Event,
    partitioner: str | Partitioner = "default",
    dead_letters: str | None = None,
    batch: int = 500,
) -> None:
    """Read topics as a member of a group, and write the outputs of each record exactly once.

    The loop runs until `stopping` is set. Outputs and offsets are in one transaction, so `read_committed`
    readers find the outputs of each input once, even if processes or brokers fail. If this raises, end the
    process and start it again. If a call of librdkafka never returns, the process is ended with code 1 by
    `faulthandler`; therefore run only one loop in a process.

    Args:
        topics: the topics to subscribe to.
        process: returns the records to write for a record that was read, none or many. It may be called again
            for the same record, so it must have no other effects. It raises ValueError for a poisoned record.
        consumer_config: librdkafka's configuration, with `group.id`. A `group.instance.id` makes a static
            member.
        producer_config: librdkafka's configuration, with a `transactional.id` that no other running process
            has and that stays the same after a restart. `transaction.timeout.ms`, 10 s unless set, is the
            time that writing a batch may take.
        stopping: when it is set, the loop ends before its next turn.
        partitioner: a strategy, or the registered name of one, for outputs without a partition.
        dead_letters: the topic to which poisoned records are written unchanged, with headers `error` and
            `found at`. None: a ValueError ends the loop.
        batch: the most records in a transaction. A transaction has fewer if processing them takes half of
            `max.poll.interval.ms`. Each record must be processed within that interval.

    Raises:
        InvalidConfigError: a setting is missing or invalid, or contradicts the guarantee.
        FencedError: another process has the transactional id or the `group.instance.id`, or a transaction
            took longer than its timeout.
        GaveUpError: one batch was aborted too often, the cluster was silent for too long, the consumer went
            back in a partition, or a record took longer than `max.poll.interval.ms`.
        MisplacedRecordError: an output names a partition that its topic does not have.
        AccessError: the user may not use the transactional id, the group or a topic. The message names the
            permission that is missing.
        UnknownTopicError: the cluster has no such topic, or this user may not see it.
        UnsupportedBrokerError: brokers are older than 2.5, and so do not fence zombies.
        BrokerUnreachableError: no broker answers, or all refuse the client.
        UnknownStrategyError: no strategy or profile has this name.
        KafkaException: the cluster refuses something else.
    """
    settings = LoopSettings.of(topics, consumer_config, producer_config, batch)
    try:
        _watch(settings.turn_s)
        refuse_old_brokers(settings.producer, settings.turn_s, dead_letters)
        with machine_faults():
            started = Consumer(dict(settings.consumer))
        with (
            closing(started) as consumer,
            PartitioningProducer(settings.producer, partitioner=partitioner) as producer,
        ):
            try:
                with suppress(KafkaException):  # the next call meets the same error, and retries
                    connected_metadata(producer.list_topics, None, CONNECTED_WITHIN_S)
                _again(producer.init_transactions, time.monotonic() + settings.turn_s)
                _run(settings, consumer, producer, partial(_outputs, process, dead_letters), stopping)
            except Exception as error:
                log.error("ending: %s", error)  # noqa: TRY400 - it is raised again when all is closed
                raise
            finally:
                _watch(settings.turn_s)
    except KafkaException as error:
        if (explained := advised_error(error.args[0], settings)) is None:
            raise
        raise explained from error
    finally:
        faulthandler.cancel_dump_traceback_later()


def _run(
    settings: LoopSettings,
    consumer: Consumer,
    producer: Any,
    outputs_of: Callable[[Message], list[ProducerRecord]],
    stopping: Event,
) -> None:
    """Read, process and write batches until `stopping` is set.

    After any error the process must end. The next process commits or aborts the transaction that is left
    open.
    """
    member = LoopMember(consumer, settings.topics, settings.batch)
    aborts = 0
    while not stopping.is_set():
        _watch(settings.turn_s)
        messages, metadata = member.read()
        if not messages:
            continue
        outputs, count = _process(messages[: settings.batch], outputs_of, settings)
        _watch(settings.turn_s)
        try:
            _write(producer, outputs, following(messages[:count]), metadata, settings.turn_s)
            member.mark_processed(count)
            aborts = 0
        except KafkaException as failed:
            error = why_failed(producer, failed.args[0])
            topics = {output.topic for output in outputs}
            if (explained := advised_error(error, settings, topics)) is not None:
                raise explained from failed
            if not error.txn_requires_abort():
                raise
            aborts += 1
            log.warning("abort %d: %s", aborts, error)
            if aborts == MOST_ABORTS:
                raise gave_up(aborts, error, settings) from failed
            _again(producer.abort_transaction, time.monotonic() + settings.turn_s)


def _process(
    messages: Sequence[Message],
    outputs_of: Callable[[Message], list[ProducerRecord]],
    settings: LoopSettings,
) -> tuple[list[ProducerRecord], int]:
    """Process records, but begin no further record after half of `max.poll.interval.ms`.

    Returns the outputs, and how many records were processed.

    Raises GaveUpError if a single record took longer than `max.poll.interval.ms`.
    """
    process = os.getpid()
    begun = before = watched = time.monotonic()
    _watch(settings.poll_s)
    outputs: list[ProducerRecord] = []
    for count, message in enumerate(messages, 1):
        try:
            outputs += outputs_of(message)
        finally:
            _end_forked(process)
        now = time.monotonic()
        if now - before > settings.poll_s:
            raise took_too_long(record_place(message), now - before, settings)
        if now - begun >= settings.poll_s / 2:
            return outputs, count
        if now - watched > _WATCH_AGAIN_S:
            _watch(settings.poll_s)
            watched = now
        before = now
    return outputs, len(messages)


def _end_forked(process: int) -> None:
    """End this process if the function `process` forked it and returned in it.

    `Consumer.close` would never return in such a process.

    Args:
        process: the id of the process that runs the loop.
    """
    if os.getpid() != process:
        log.error("ending: process forked this one and let it return; end it there with os._exit")
        os._exit(1)


def _write(
    producer: Any,
    outputs: Sequence[ProducerRecord],
    offsets: list[TopicPartition],
    metadata: Any,
    within_s: float,
) -> None:
    """Write outputs and offsets in one transaction: either all of them are committed, or none.

    After a KafkaException with `txn_requires_abort()` none is committed, and the caller must abort. After any
    other exception the process must end.
    """
    deadline = time.monotonic() + within_s
    producer.begin_transaction()
    for output in outputs:
        _queue(producer, output, deadline)
    _again(partial(producer.send_offsets_to_transaction, offsets, metadata), deadline)
    _again(producer.commit_transaction, deadline)


def _queue(producer: Any, record: ProducerRecord, deadline: float) -> None:
    """Queue a record at the producer, as soon as its queue has room; raise KafkaException at the deadline."""
    while True:
        try:
            producer.produce(**record._asdict())
        except KafkaException as error:
            if error.args[0].code() != KafkaError._UNKNOWN_PARTITION or record.partition == ANY_PARTITION:
                raise
            raise MisplacedRecordError(
                f"process put a record of topic {record.topic!r} into partition {record.partition}, which "
                "the topic does not have"
            ) from error
        except BufferError as full:
            if time.monotonic() >= deadline:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT, str(full))) from full
            producer.poll(0.05)
        else:
            return


def _outputs(
    process: Callable[[Message], Iterable[ProducerRecord]], dead_letters: str | None, message: Message
) -> list[ProducerRecord]:
    """Return the outputs of a record; a poisoned record is its own output, to the topic `dead_letters`.

    All outputs of `process` are collected before the first one is written.
    """
    outputs = None
    try:
        result: object = process(message)
        if isinstance(result, Iterable):
            outputs = [*result]
    except ValueError as error:
        if dead_letters is None:
            raise
        found_at = _where(message)
        log.warning("poisoned: %s: %s", found_at, error)
        headers: HeadersType = [("error", str(error)[:1000].encode()), ("found at", found_at.encode())]
        return [ProducerRecord(dead_letters, message.value(), message.key(), headers=headers)]
    if outputs is None or not all(isinstance(output, ProducerRecord) for output in outputs):
        raise InvalidConfigError(
            f"process gave {result if outputs is None else outputs!r:.80} for {_where(message)}: give "
            "ProducerRecords, none or many"
        )
    return outputs


def _where(message: Message) -> str:
    at = record_place(message)
    return f"{at.topic}/{at.partition}/{at.offset}"


def _again(call: Callable[[float], object], deadline: float) -> None:
    """Repeat a call as long as its error is retriable, until the deadline."""
    while True:
        try:
            call(max(deadline - time.monotonic(), 0.1))
        except KafkaException as error:
            if not error.args[0].retriable() or time.monotonic() >= deadline:
                raise
            log.warning("again: %s", error.args[0])
        else:
            return


def _watch(limit_s: float) -> None:
    """Make `faulthandler` print a traceback and end the process, unless this is called again in time.

    `send_offsets_to_transaction` may never return (confluentinc/librdkafka issues 5456 and 5511).
    """
    faulthandler.dump_traceback_later(limit_s + HUNG_AFTER_S, exit=True)


_KNOWS = re.compile(r"ApiKey \w+ \((\d+)\) Versions \d+\.\.(\d+)")
_TXN_OFFSET_COMMIT, _WITH_GENERATION = 28, 3


def refuse_old_brokers(config: Mapping[str, Any], within_s: float, dead_letters: str | None = None) -> None:
    """Refuse brokers that do not check the group's generation when a transaction commits offsets.

    For such brokers librdkafka leaves the generation out without an error. Only its log tells which versions
    of requests a broker supports, so a client is made for this question. If the log tells nothing, no broker
    is refused.

    Raises:
        UnknownTopicError: the cluster has no topic `dead_letters`, or this user may not see it.
        UnsupportedBrokerError: offsets in a transaction have no generation, so zombies are not fenced.
        BrokerUnreachableError: no broker answers, or all refuse the client.
    """
    kept = BufferingHandler(sys.maxsize)
    logger = logging.Logger("versions")  # noqa: LOG001 - no other part of the program is to hear of it
    logger.addHandler(kept)
    errors: list[KafkaError] = []
    own = {name: value for name, value in config.items() if not name.startswith("transaction")}
    with machine_faults():
        asking = Producer(own | {"debug": "feature", "logger": logger, "error_cb": errors.append})
    try:
        metadata = cluster_metadata(asking, config, errors, timeout_s=within_s)
        asking.poll(0)  # passes the log to the logger
    finally:
        asking.close()
    if dead_letters is not None and dead_letters not in metadata.topics:
        raise UnknownTopicError(
            f"dead_letters is {dead_letters!r}: the cluster has no such topic, or hides it: create it first"
        )
    log_text = "\n".join(record.getMessage() for record in kept.buffer)
    newest_versions = {int(request): int(newest) for request, newest in _KNOWS.findall(log_text)}
    if newest_versions and newest_versions.get(_TXN_OFFSET_COMMIT, -1) < _WITH_GENERATION:
        raise UnsupportedBrokerError(
            f"the brokers at {config.get('bootstrap.servers')} are older than 2.5: they take offsets in a "
            "transaction from members that the group has lost, so that records would be doubled. Upgrade them"
        )
