"""One task's records, produced and acknowledged."""

from __future__ import annotations

from collections import deque
from itertools import chain, starmap
from operator import length_hint
from typing import TYPE_CHECKING, Any

import confluent_kafka  # the module, since its classes cannot be pickled

from partitioning.clients.delivery import WAIT_S, Deliveries, describe_error
from partitioning.errors import DeliveryError
from spark_integration.sinks.cluster import ANSWER_WITHIN_S, check_unchanged
from spark_integration.sinks.producers import Lease
from spark_integration.sinks.records import records

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa
    from confluent_kafka import Producer

    from spark_integration.sinks.placement import KeyRule


def deliver(
    batches: Iterable[pa.RecordBatch],
    config: Mapping[str, str],
    counts: Mapping[str, int],
    topic: str | None,
    computed_for: int | None = None,
    rule: KeyRule | None = None,
) -> None:
    """Produce every row and return once the broker has acknowledged all of them.

    Memory is bounded by librdkafka's queue: while it is full, this waits.

    Args:
        batches: rows whose columns have been checked.
        config: librdkafka's producer configuration.
        counts: partition count of every topic that may be written.
        topic: topic of every record; None where the rows name theirs.
        computed_for: the count of the partition column; None where that is not known.
        rule: where keyed rows have to be; None where that is not known.

    Raises:
        RecordError: a row that cannot be a record; rows of earlier batches may have been written.
        RoutingError: a keyed row is elsewhere than `rule` says; likewise.
        PartitionCountError: a row's topic has another count than its partition was computed for, or than
            `counts` say; likewise.
        DeliveryError: a record was not acknowledged; what was still queued is dropped.
    """
    filled = (batch for batch in batches if batch.num_rows)
    first = next(filled, None)
    if first is None:
        return
    deliveries = Deliveries(config, DeliveryError, "or more records")
    lease = Lease(config, deliveries.report)
    producer, topics = lease.producer, _topics(first, topic, counts)
    expected = counts if "partition" in first.schema.names else {}
    done_with = [producer]
    try:
        _check_growth(producer, topics, expected, must_answer=True)
        for batch in chain([first], filled):
            topics |= _topics(batch, topic, counts)
            send(producer, deliveries, records(batch, counts, topic, computed_for, rule))
            deliveries.serve(producer.poll, 0)
            deliveries.check()
        for _ in deliveries.waits(producer.flush, producer.__len__):
            deliveries.check()
        _check_growth(producer, topics & expected.keys(), expected, must_answer=False)
    except BaseException as error:
        producer.purge()
        deliveries.serve(producer.flush, WAIT_S)
        if isinstance(error, confluent_kafka.KafkaException | DeliveryError) and deliveries.fatal is not None:
            error = deliveries.fatal  # whatever it was that told first
        if isinstance(error, confluent_kafka.KafkaException):
            raise DeliveryError(f"a record could not be produced: {describe_error(error.args[0])}") from error
        raise
    else:
        done_with = lease.give_back()
    finally:
        for each in done_with:
            _close(each, deliveries)


def _check_growth(
    producer: Producer, topics: Iterable[str], expected: Mapping[str, int], *, must_answer: bool
) -> None:
    """Ask for these topics; raise if one has another partition count than is expected of it.

    Connected, an idempotent producer gets its id at once; if not, it tries again in 500 ms: so the answer is
    waited for before the first record. Afterwards brokers that are silent fail no task, whose records are
    all acknowledged.
    """
    for topic in topics:
        try:
            partitions = producer.list_topics(topic, timeout=ANSWER_WITHIN_S).topics[topic].partitions
        except confluent_kafka.KafkaException:
            if must_answer:
                raise
            return
        if partitions and topic in expected:
            check_unchanged(topic, expected[topic], len(partitions))


def _topics(batch: pa.RecordBatch, topic: str | None, counts: Mapping[str, int]) -> set[str]:
    names = {topic} if topic is not None else {*batch.column("topic").unique().to_pylist()}
    return names & counts.keys()


def send(producer: Producer, deliveries: Deliveries, columns: list[Iterable[Any]]) -> None:
    """Hand over a batch's records, given as the arguments of `produce`."""
    places = list(columns[3])
    at = iter(places)
    rows = zip(*columns[:3], at, *columns[4:], strict=False)
    while True:
        try:
            deque(starmap(producer.produce, rows), maxlen=0)  # a loop without a line of Python
        except BufferError:
            row = len(places) - length_hint(at) - 1
            record = [column[row] if isinstance(column, list) else next(iter(column)) for column in columns]
            _produce_once_there_is_room(producer, deliveries, record)
        else:
            return


def _produce_once_there_is_room(producer: Producer, deliveries: Deliveries, record: Sequence[Any]) -> None:
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
    # Not left to the garbage collector: a worker that Spark uses again would go on connecting.
    # Closing would wait without end for what is still queued.
    if not len(producer):
        deliveries.serve(lambda _: producer.close(), 0)
