"""The loop: reads, has processed, and writes with the offsets in one transaction."""

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
"""Seconds after its limit at which a call that has not come back ends the process."""
_WATCH_AGAIN_S = 1.0
CONNECTED_WITHIN_S = 1.0
"""Seconds to wait for a connection, by which a producer gets its id at once."""
MOST_ABORTS = 5
"""Aborted transactions in a row after which the loop gives up."""

log = logging.getLogger("partitioning.clients.read_process_write")


class ProducerRecord(NamedTuple):
    """A record to write, as `PartitioningProducer.produce` takes it.

    Attributes:
        topic: where to.
        value: the serialized value; None is a tombstone.
        key: the serialized key.
        partition: an explicit one; else the strategy decides.
        timestamp: milliseconds since 1970; 0 is now.
        headers: names and values.
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
    """Read topics as a member of a group, and write what comes of each record, once, until `stopping` is set.

    Outputs and offsets are in one transaction, so `read_committed` readers find the outputs of each input
    once, whatever dies meanwhile. End the process where this raises, and start it again. A call of librdkafka
    that never comes back ends the process itself (`faulthandler`), with code 1: so one loop a process.

    Args:
        topics: to subscribe to.
        process: the records to write for one that was read, none or many. It may be called again for the
            same record, so it has no other effects. A ValueError says that the record is poisoned.
        consumer_config: librdkafka's, with `group.id`. A `group.instance.id` makes a static member.
        producer_config: librdkafka's, with a `transactional.id` that no other running process has, the same
            after a restart. `transaction.timeout.ms`, 10 s unless set, is how long writing may take.
        stopping: ends the loop before its next turn.
        partitioner: a strategy, or the registered name of one, for outputs without a partition.
        dead_letters: the topic for poisoned records, as they were, with headers `error` and `found at`; None
            lets the ValueError end the loop.
        batch: records of a transaction, at most. A transaction ends before where records take long: once they
            have taken half of `max.poll.interval.ms`, within which each of them must be processed.

    Raises:
        InvalidConfigError: a setting is missing, has no meaning, or contradicts what the guarantee rests on.
        FencedError: another process has the transactional id or the `group.instance.id`, or a transaction
            took longer than its timeout.
        GaveUpError: one batch was aborted too often, the cluster was silent for too long, the consumer went
            back in a partition, or a record took longer than `max.poll.interval.ms`.
        MisplacedRecordError: an output names a partition that its topic does not have.
        AccessError: the cluster does not let us use the transactional id, the group or a topic; the
            message names what to allow.
        UnknownTopicError: the cluster has no such topic, or hides it from us.
        UnsupportedBrokerError: brokers are older than 2.5, and fence no zombies.
        BrokerUnreachableError: no broker answers, or none lets us in.
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
                with suppress(KafkaException):  # which the next call meets, too, and waits for
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
    """Go round until `stopping` is set; after any error the process has to end.

    The next process finishes or aborts what was left open.
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
    """Return the outputs of the first records, and of how many.

    Of what half the group's patience is enough for.

    GaveUpError if a record took longer than the group waits.
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
    """End a process that `process` forked and let return: `Consumer.close` would wait there without end."""
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
    """Write outputs and offsets together, or neither.

    After a KafkaException with `txn_requires_abort()` neither is there: abort. After another end the process.
    """
    deadline = time.monotonic() + within_s
    producer.begin_transaction()
    for output in outputs:
        _queue(producer, output, deadline)
    _again(partial(producer.send_offsets_to_transaction, offsets, metadata), deadline)
    _again(producer.commit_transaction, deadline)


def _queue(producer: Any, record: ProducerRecord, deadline: float) -> None:
    """Hand a record to the producer, once its queue has room for it."""
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
    """Return what to write for a record that was read; all of it before anything is written."""
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
    """Call once more while librdkafka says that this helps, until the deadline."""
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
    """End the process, and say where it stood, unless this is called again in time.

    `send_offsets_to_transaction` may never come back (confluentinc/librdkafka issues 5456 and 5511).
    """
    faulthandler.dump_traceback_later(limit_s + HUNG_AFTER_S, exit=True)


_KNOWS = re.compile(r"ApiKey \w+ \((\d+)\) Versions \d+\.\.(\d+)")
_TXN_OFFSET_COMMIT, _WITH_GENERATION = 28, 3


def refuse_old_brokers(config: Mapping[str, Any], within_s: float, dead_letters: str | None = None) -> None:
    """Ask a broker which requests it knows, with a client of its own that lives for this question.

    librdkafka leaves the group's generation out without a word where a broker does not know it. Nothing but
    its log says what brokers know; where that says nothing, nobody is refused.

    Raises:
        UnknownTopicError: the cluster has no topic `dead_letters`, or hides it from us.
        UnsupportedBrokerError: offsets in a transaction take no generation, so they fence nobody.
        BrokerUnreachableError: no broker answers, or none lets us in.
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
        asking.poll(0)  # hands the log over
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
