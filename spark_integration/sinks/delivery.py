"""One task's records, produced and acknowledged."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, starmap
from operator import length_hint
from typing import TYPE_CHECKING, Any

import confluent_kafka  # the module, since its classes cannot be pickled
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
"""Seconds for which a worker takes a topic's partition count for known before its next task begins."""


class Lease:
    """A producer while one task has it: no other gets it before it is given back.

    `report` is the delivery callback, called for failures only.

    Attributes:
        producer: the task's own until it is given back.
        asked: when it last said how many partitions a topic has, in seconds of the monotonic clock, by topic.
        _reports: a list with the callback of the task that has the producer now. The producer keeps the list,
            so a later task can replace what is in it.
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
        """Keep the producer, which must have nothing queued; return the producers beyond the limit."""
        idle = _idle()
        idle[self._config] = (self.producer, self._reports, self.asked)
        return [idle.pop(next(iter(idle)))[0] for _ in range(len(idle) - KEPT)]


def _create_producer(config: Mapping[str, str]) -> tuple[Producer, list[Any]]:
    """Return a new producer, and the list in which it finds whom to report failures to."""
    reports: list[Callable[[KafkaError | None, Message], None]] = []

    # After a fatal error confluent-kafka calls this with an exception of its own under way, which has to end
    # the first call made here: a loop would take it for one of its own and leave it behind for good.
    def report(error: KafkaError | None, message: Message) -> None:
        reports[0](error, message)

    settings = {**config, "delivery.report.only.error": True, "on_delivery": report}
    with machine_faults():
        return confluent_kafka.Producer(settings), reports


def _serves(producer: Producer) -> bool:
    """Return whether an idle producer has met no fatal error since."""
    try:
        producer.poll(0)
    except (confluent_kafka.KafkaException, SystemError):  # the latter where Python hides the former
        return False
    return True


def _idle() -> dict[tuple[tuple[str, str], ...], tuple[Producer, list[Any], dict[str, float]]]:
    """Return the idle producers of this process by configuration, the one used last at the end."""
    return process_store("producers")


def deliver(
    batches: Iterable[pa.RecordBatch],
    config: Mapping[str, str],
    counts: Mapping[str, int],
    topic: str | None,
    computed_for: int | None = None,
    rule: KeyRule | None = None,
) -> frozenset[str]:
    """Produce every row, wait until the broker has acknowledged all of them, and return the topics written.

    Memory is bounded by librdkafka's queue: while it is full, this waits. After an error rows of earlier
    batches may have been written; what was still queued is dropped. `counts` has the partition count of every
    topic that may be written; `topic` is None if the rows name theirs; `computed_for`, the count of the
    partition column, and `rule`, where keyed rows have to be, are None if that is not known.

    Raises RecordError, RoutingError (a keyed row is elsewhere than `rule` says), PartitionCountError (a topic
    has another count than its rows' partitions were computed for, or than `counts` say), DeliveryError.

    Args:
        batches: the task's rows; batches without rows are passed over.
        config: librdkafka's settings.
        counts: partitions of each topic that may be written.
        topic: the topic of all rows, or None.
        computed_for: the count that the partition column was made for, or None.
        rule: where keyed rows have to be, or None.
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
        # Before the first record: after it rows would be in the topic already.
        wait_s = first_wait_s(config)
        _check_growth(lease, _topics_to_ask(lease, topics), expected, within_s=wait_s, must_answer=True)
        for batch in chain([first], filled):
            topics |= _topics(batch, topic, counts)
            send(producer, deliveries, records(batch, counts, topic, computed_for, rule))
            deliveries.serve(producer.poll, 0)
            deliveries.check()
        for _ in deliveries.waits(producer.flush, producer.__len__):
            deliveries.check()
        # A topic that grew meanwhile: the rows are where they were meant to be, but no longer where their
        # keys belong.
        named = topics & expected.keys()
        _check_growth(lease, named, expected, within_s=ANSWER_WITHIN_S, must_answer=False)
    except BaseException as error:
        # What is still queued must not reach the topic after the task has failed: Spark runs it again.
        producer.purge()
        deliveries.serve(producer.flush, WAIT_S)
        if isinstance(error, confluent_kafka.KafkaException | DeliveryError) and deliveries.fatal is not None:
            error = deliveries.fatal  # whatever it was that told first
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
    """Return the topics of which this producer has said nothing for `ASKED_S`, in the tasks before.

    Of many small tasks each would ask what the one before has just been told.
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
    """Ask for these topics; raise if one has another partition count than is expected of it.

    Before the first record that makes the connection by which an idempotent producer gets its id at once.
    Afterwards brokers that are silent fail no task, whose records are all acknowledged.
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
    """Return the topics of a batch that the cluster knows."""
    names = {topic} if topic is not None else {*batch.column("topic").unique().to_pylist()}
    return names & counts.keys()


def send(producer: Producer, deliveries: Deliveries, columns: list[Iterable[Any]]) -> None:
    """Hand over a batch's records, given as the arguments of `produce`.

    The records go into librdkafka's queue, not to a broker: errors of delivery come later, to `deliveries`.
    While the queue is full, this serves the producer until there is room.

    Args:
        producer: takes the records.
        deliveries: hears of failures while this waits.
        columns: as `records.records` gives them.

    Raises:
        DeliveryError: a record was not delivered, or is larger than all that may be queued.
    """
    places = list(columns[3])
    at = iter(places)
    rows = zip(*columns[:3], at, *columns[4:], strict=False)
    while True:
        try:
            deque(starmap(producer.produce, rows), maxlen=0)  # a loop without a line of Python
        except BufferError:
            # The iterator tells how many rows `produce` has taken: the last one of them met a full queue.
            row = len(places) - length_hint(at) - 1
            record = [column[row] if isinstance(column, list) else next(iter(column)) for column in columns]
            _produce_once_there_is_room(producer, deliveries, record)
        else:
            return


def _produce_once_there_is_room(producer: Producer, deliveries: Deliveries, record: Sequence[Any]) -> None:
    """Produce one record as soon as librdkafka's queue has room for it.

    Raises:
        DeliveryError: the queue is empty and the record still does not fit.
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
    """End a producer that has nothing queued."""
    # Not left to the garbage collector: a worker that Spark uses again would go on connecting.
    # Closing would wait without end for what is still queued.
    if not len(producer):
        deliveries.serve(lambda _: producer.close(), 0)
