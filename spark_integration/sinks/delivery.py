"""Produce one task's records at least once, and wait until brokers have acknowledged them."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, starmap
from operator import length_hint
from typing import TYPE_CHECKING, Any

import confluent_kafka  # only the module, because its classes cannot be pickled
import pyarrow as pa

from partitioning.clients.contact import connected_metadata, machine_faults
from partitioning.clients.delivery import WAIT_S, Deliveries, describe_error
from partitioning.errors import DeliveryError
from spark_integration.sinks.cluster import ANSWER_WITHIN_S, check_unchanged, first_wait_s
from spark_integration.sinks.placement import KeyRule
from spark_integration.sinks.process_store import KEPT, process_store
from spark_integration.sinks.records import records

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message, Producer

ASKED_S = 5.0
"""Seconds for which a worker's later tasks rely on a partition count that an earlier task has asked for."""


class Lease:
    """Lends one of this process's producers to a task; no other task gets it before `give_back`.

    Args:
        config: librdkafka's settings. Only an idle producer with the same settings is used again.
        report: the delivery callback, which is called for failures only.

    Attributes:
        producer: the producer, which belongs to the task until `give_back`.
        asked: topic -> when this producer last asked for its partition count, in seconds of the monotonic
            clock.
        _reports: a list with one item, the callback of the task that has the producer now. The producer was
            created with a function that calls this item, so a later task can set its own callback.
    """

    def __init__(
        self, config: Mapping[str, str], report: Callable[[KafkaError | None, Message], None]
    ) -> None:
        self._config = tuple(sorted(config.items()))
        kept = _idle().pop(self._config, None)
        self.producer, self._reports, self.asked = (
            kept if kept is not None and _serves(kept[0]) else (*_create_producer(config), {})
        )
        self._reports[:] = [report]

    def give_back(self) -> list[Producer]:
        """Keep the producer for later tasks; return the idle ones beyond `KEPT`, which the caller closes.

        The producer must have no queued records.
        """
        idle = _idle()
        idle[self._config] = (self.producer, self._reports, self.asked)
        return [idle.pop(next(iter(idle)))[0] for _ in range(len(idle) - KEPT)]


def _create_producer(config: Mapping[str, str]) -> tuple[Producer, list[Any]]:
    """Return a new producer and a list: its first item is called for each record that was not delivered."""
    reports: list[Callable[[KafkaError | None, Message], None]] = []

    # `report` makes exactly one call, and has no loop. After a fatal error confluent-kafka calls `report`
    # while it has already set an exception in the interpreter. The first call in `report` must fail with that
    # exception. A `for` loop would take the exception for one of its iterator, and the error would be lost.
    def report(error: KafkaError | None, message: Message) -> None:
        reports[0](error, message)

    settings = {**config, "delivery.report.only.error": True, "on_delivery": report}
    with machine_faults():
        return confluent_kafka.Producer(settings), reports


def _serves(producer: Producer) -> bool:
    """Return whether an idle producer still works: a fatal error since its last task makes it useless."""
    try:
        producer.poll(0)
    # CPython raises SystemError if a C function returns a result although it has set an exception.
    except (confluent_kafka.KafkaException, SystemError):
        return False
    return True


def _idle() -> dict[tuple[tuple[str, str], ...], tuple[Producer, list[Any], dict[str, float]]]:
    """Return the idle producers of this process: settings -> (producer, reports, asked), oldest first."""
    return process_store("producers")


def deliver(
    batches: Iterable[pa.RecordBatch],
    config: Mapping[str, str],
    counts: Mapping[str, int],
    topic: str | None,
    computed_for: int | None = None,
    rule: KeyRule | None = None,
) -> frozenset[str]:
    """Produce every row, wait until brokers have acknowledged all of them, and return the topics written.

    librdkafka's queue bounds the memory: while it is full, this waits. After an error rows of earlier batches
    may have been written; rows that were still queued are dropped.

    Args:
        batches: the task's rows; batches without rows are skipped.
        config: librdkafka's settings.
        counts: partition count of each topic that may be written.
        topic: the topic of all rows; None if the rows name theirs.
        computed_for: the count for which the rows' partitions were computed; None if unknown.
        rule: the rule that gives each key its partition; None if rows are not checked.

    Raises:
        RecordError: a row cannot be a record.
        RoutingError: a keyed row has another partition than `rule` gives it.
        PartitionCountError: a topic has another count than `computed_for`, or than `counts` says.
        DeliveryError: a record could not be produced, or was not acknowledged.
    """
    filled = (batch for batch in batches if batch.num_rows)
    first = next(filled, None)
    # A task without rows makes no connection.
    if first is None:
        return frozenset()
    deliveries = Deliveries(config, "or more records")
    lease = Lease(config, deliveries.report)
    producer, topics = lease.producer, _topics(first, topic, counts)
    expected = counts if "partition" in first.schema.names else {}
    done_with = [producer]
    try:
        # The partition count is checked before the first record: later, rows would be in the topic already.
        wait_s = first_wait_s(config)
        _check_growth(lease, _topics_to_ask(lease, topics), expected, within_s=wait_s, must_answer=True)
        for batch in chain([first], filled):
            topics |= _topics(batch, topic, counts)
            send(producer, deliveries, records(batch, counts, topic, computed_for, rule))
            deliveries.serve(producer.poll, 0)
            deliveries.check()
        for _ in deliveries.waits(producer.flush, producer.__len__):
            deliveries.check()
        # The partition counts are checked again. If a topic has grown meanwhile, the rows are in the
        # partitions that they name, but their keys belong elsewhere now.
        named = topics & expected.keys()
        _check_growth(lease, named, expected, within_s=ANSWER_WITHIN_S, must_answer=False)
    except BaseException as error:
        # Queued records must not reach the topic after the task has failed: Spark runs the task again, and
        # they would be there twice.
        producer.purge()
        deliveries.serve(producer.flush, WAIT_S)
        if isinstance(error, confluent_kafka.KafkaException | DeliveryError) and deliveries.fatal is not None:
            error = deliveries.fatal  # the cause, whichever error was raised first
        if isinstance(error, confluent_kafka.KafkaException):
            raise DeliveryError(f"a record could not be produced: {describe_error(error.args[0])}") from error
        raise
    else:
        done_with = lease.give_back()
        return frozenset(topics)
    finally:
        for producer in done_with:
            _close(producer, deliveries)


def _topics_to_ask(lease: Lease, topics: Iterable[str]) -> list[str]:
    """Return the topics for whose partition count this producer has not asked in the last `ASKED_S` seconds.

    Without this, each of many small tasks would ask again what the task before it has just asked.
    """
    since = time.monotonic() - ASKED_S
    return [topic for topic in topics if lease.asked.get(topic, -math.inf) < since]


def _check_growth(
    lease: Lease,
    topics: Iterable[str],
    expected: Mapping[str, int],
    *,
    within_s: float,
    must_answer: bool,
) -> None:
    """Ask for the partition counts of topics, and raise PartitionCountError if one is not as expected.

    Before the first record this also makes the connection over which an idempotent producer gets its id
    without a wait.

    Args:
        lease: the producer that asks; the time of each answer is noted in it.
        topics: the topics to ask about.
        expected: topic -> partition count when the write began; other topics are not compared.
        within_s: seconds to wait for each answer.
        must_answer: whether KafkaException is raised if brokers do not answer. False after the last record:
            all records are acknowledged then, so the task has succeeded.
    """
    for topic in topics:
        try:
            metadata = connected_metadata(lease.producer.list_topics, topic, within_s)
        except confluent_kafka.KafkaException:
            if must_answer:
                raise
            return
        partitions = metadata.topics[topic].partitions
        if partitions and topic in expected:
            check_unchanged(topic, expected[topic], len(partitions))
            lease.asked[topic] = time.monotonic()


def _topics(batch: pa.RecordBatch, topic: str | None, counts: Mapping[str, int]) -> set[str]:
    """Return the topics of a batch that are in `counts`, the topics that may be written."""
    names = {topic} if topic is not None else {*batch.column("topic").unique().to_pylist()}
    return names & counts.keys()


def send(producer: Producer, deliveries: Deliveries, columns: list[Iterable[Any]]) -> None:
    """Put a batch's records into librdkafka's queue, from which it sends them to brokers.

    While the queue is full, this waits for room. A failed delivery is reported to `deliveries` later.

    Args:
        producer: the producer that takes the records.
        deliveries: the failures of this task, which are checked while this waits.
        columns: the arguments of `produce`, as `records.records` returns them.

    Raises:
        DeliveryError: a record was not delivered, or is larger than the whole queue.
    """
    places = list(columns[3])
    at = iter(places)
    rows = zip(*columns[:3], at, *columns[4:], strict=False)
    while True:
        try:
            deque(starmap(producer.produce, rows), maxlen=0)  # a loop that runs in C, for speed
        except BufferError:
            # `length_hint` tells how many rows are left. The last row that was taken met the full queue: it
            # is produced again.
            row = len(places) - length_hint(at) - 1
            record = [column[row] if isinstance(column, list) else next(iter(column)) for column in columns]
            _produce_once_there_is_room(producer, deliveries, record)
        else:
            return


def _produce_once_there_is_room(producer: Producer, deliveries: Deliveries, record: Sequence[Any]) -> None:
    """Produce one record as soon as librdkafka's queue has room for it.

    Args:
        producer: the producer whose queue was full.
        deliveries: the failures of this task.
        record: the arguments of `produce`.

    Raises:
        DeliveryError: another record was not delivered; or the queue is empty, and the record does not fit.
    """
    for left in deliveries.waits(producer.poll, producer.__len__):
        deliveries.check()
        try:
            producer.produce(*record)
        except BufferError:
            if not left:
                raise DeliveryError(
                    f"a record of topic {record[0]!r} is larger than all that may be queued: raise "
                    "'kafka.queue.buffering.max.kbytes'"
                ) from None
        else:
            return


def _close(producer: Producer, deliveries: Deliveries) -> None:
    """Close a producer, unless it has queued records."""
    # The producer is closed here and not by the garbage collector: a Spark worker lives on, and the producer
    # would go on connecting to brokers. A producer with queued records is left alone, because close() waits
    # for these without a limit.
    if not len(producer):
        deliveries.serve(lambda _: producer.close(), 0)
