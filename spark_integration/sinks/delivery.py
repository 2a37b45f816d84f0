"""One task's records, produced and acknowledged."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from spark_integration.errors import DeliveryError
from spark_integration.sinks.cluster import ANSWER_WITHIN_S
from spark_integration.sinks.records import records

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pyarrow as pa
    from confluent_kafka import KafkaError, Message, Producer

    from spark_integration.sinks.records import Record

WAIT_S = 1.0


class _Failures:
    """What the broker did not acknowledge: how many records, and why the first one."""

    def __init__(self) -> None:
        self.count = 0
        self.first = ""

    def __call__(self, error: KafkaError, message: Message) -> None:
        self.count += 1
        if not self.first:
            self.first = f"topic {message.topic()!r} partition {message.partition()}: {error.str()}"

    def check(self) -> None:
        if self.count:
            raise DeliveryError(
                f"{self.count} or more records were not acknowledged; the first: {self.first}"
            )


def deliver(
    batches: Iterable[pa.RecordBatch],
    config: Mapping[str, str],
    counts: Mapping[str, int],
    topic: str | None,
    computed_for: int | None = None,
) -> None:
    """Produce every row and return once the broker has acknowledged all of them.

    Memory is bounded by librdkafka's queue: while it is full, this waits.

    Args:
        batches: rows whose columns have been checked.
        config: librdkafka's producer configuration.
        counts: partition count of every topic that may be written.
        topic: topic of every record; None where the rows name theirs.
        computed_for: the count of the partition column; None where that is not known.

    Raises:
        RecordError: a row that cannot be a record; rows of earlier batches may have been written.
        PartitionCountError: a row's topic has another count than its partition was computed for; likewise.
        DeliveryError: a record was not acknowledged; what was still queued is dropped.
    """
    filled = (batch for batch in batches if batch.num_rows)
    first = next(filled, None)
    if first is None:
        return
    from confluent_kafka import Producer  # noqa: PLC0415 - this runs on executors

    failures = _Failures()
    # Closed here, not when the garbage is collected: a worker that Spark uses again would go on connecting.
    with Producer({**config, "delivery.report.only.error": True, "on_delivery": failures}) as producer:
        _deliver(
            producer,
            failures,
            (records(batch, counts, topic, computed_for) for batch in chain([first], filled)),
            topic,
        )


def _deliver(
    producer: Producer, failures: _Failures, batches: Iterable[Iterator[Record]], topic: str | None
) -> None:
    from confluent_kafka import KafkaException  # noqa: PLC0415 - as above

    try:
        # An idempotent producer that is connected gets its id at once; one that is not tries again in 500 ms.
        producer.list_topics(topic, timeout=ANSWER_WITHIN_S)
        for batch in batches:
            for record in batch:
                _produce(producer, record, failures)
            producer.poll(0)
            failures.check()
        while producer.flush(WAIT_S):
            failures.check()
        failures.check()
    except BaseException as error:
        producer.purge()
        producer.flush(WAIT_S)
        # A fatal error is raised while failed records are being reported, and Python hides it behind that.
        cause = error.__cause__ if isinstance(error, SystemError) else error
        if isinstance(cause, KafkaException):
            raise DeliveryError(f"a record could not be produced: {_said(cause.args[0])}") from cause
        raise


def _said(error: KafkaError) -> str:
    """What librdkafka says, and what it means where that is hard to guess."""
    text: str = error.str()
    if error.code() == error.CLUSTER_AUTHORIZATION_FAILED:
        text += (
            ". This user may write to no topic, so the cluster refuses it an idempotent producer: "
            "give it the permission to write"
        )
    return text


def _produce(producer: Producer, record: Record, failures: _Failures) -> None:
    topic, value, key, partition, timestamp, headers = record
    while True:
        try:
            producer.produce(
                topic, value=value, key=key, partition=partition, timestamp=timestamp, headers=headers
            )
        except BufferError:
            producer.poll(WAIT_S)
            failures.check()
        else:
            return
