"""One task's records, produced and acknowledged."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import confluent_kafka  # the module, since its classes cannot be pickled

from partitioning.clients.delivery import WAIT_S, Deliveries, said
from spark_integration.errors import DeliveryError
from spark_integration.sinks.cluster import ANSWER_WITHIN_S
from spark_integration.sinks.records import records

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa
    from confluent_kafka import Producer

    from spark_integration.sinks.records import Record


def deliver(
    batches: Iterable[pa.RecordBatch],
    config: Mapping[str, str],
    counts: Mapping[str, int],
    topic: str | None,
    computed_for: int | None = None,
) -> frozenset[str]:
    """Produce every row and return once the broker has acknowledged all of them.

    Memory is bounded by librdkafka's queue: while it is full, this waits.

    Args:
        batches: rows whose columns have been checked.
        config: librdkafka's producer configuration.
        counts: partition count of every topic that may be written.
        topic: topic of every record; None where the rows name theirs.
        computed_for: the count of the partition column; None where that is not known.

    Returns:
        The topics that were written.

    Raises:
        RecordError: a row that cannot be a record; rows of earlier batches may have been written.
        PartitionCountError: a row's topic has another count than its partition was computed for; likewise.
        DeliveryError: a record was not acknowledged; what was still queued is dropped.
    """
    filled = (batch for batch in batches if batch.num_rows)
    first = next(filled, None)
    if first is None:
        return frozenset()
    topics: set[str] = set()

    def converted() -> Iterator[Iterable[Record]]:
        for batch in chain([first], filled):
            yield records(batch, counts, topic, computed_for)
            topics.update([topic] if topic is not None else batch.column("topic").unique().to_pylist())

    deliveries = Deliveries(config, DeliveryError, "or more records")
    settings = {**config, "delivery.report.only.error": True, "on_delivery": deliveries.report}
    producer = confluent_kafka.Producer(settings)
    try:
        _run(producer, deliveries, converted(), topic)
    finally:
        # Not left to the garbage collector: a worker that Spark uses again would go on connecting.
        # Closing would wait without end for what is still queued.
        if not len(producer):
            deliveries.serve(lambda _: producer.close(), 0)
    return frozenset(topics)


def _run(
    producer: Producer, deliveries: Deliveries, batches: Iterable[Iterable[Record]], topic: str | None
) -> None:
    """Hand over all records and wait for the broker's word on each; the first that is lost ends it."""
    try:
        # Connected, an idempotent producer gets its id at once; if not, it tries again in 500 ms.
        producer.list_topics(topic, timeout=ANSWER_WITHIN_S)
        for batch in batches:
            for record in batch:
                name, value, key, partition, timestamp, headers = record
                try:
                    producer.produce(name, value, key, partition, timestamp=timestamp, headers=headers)
                except BufferError:
                    _produce_once_there_is_room(producer, deliveries, record)
            deliveries.serve(producer.poll, 0)
            deliveries.check()
        for _ in deliveries.waits(producer.flush, producer.__len__):
            deliveries.check()
    except BaseException as error:
        producer.purge()
        deliveries.serve(producer.flush, WAIT_S)
        if isinstance(error, confluent_kafka.KafkaException | DeliveryError) and deliveries.fatal is not None:
            error = deliveries.fatal  # whatever it was that told first
        if isinstance(error, confluent_kafka.KafkaException):
            raise DeliveryError(f"a record could not be produced: {said(error.args[0])}") from error
        raise


def _produce_once_there_is_room(producer: Producer, deliveries: Deliveries, record: Record) -> None:
    topic, value, key, partition, timestamp, headers = record
    for left in deliveries.waits(producer.poll, producer.__len__):
        deliveries.check()
        try:
            producer.produce(topic, value, key, partition, timestamp=timestamp, headers=headers)
        except BufferError:
            if not left:
                raise DeliveryError(
                    f"a record of topic {topic!r} is larger than all that may be queued: raise "
                    "'kafka.queue.buffering.max.kbytes'"
                ) from None
        else:
            return
