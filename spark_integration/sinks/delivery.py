"""One task's records, produced and acknowledged."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING

from spark_integration.errors import DeliveryError
from spark_integration.sinks.cluster import ANSWER_WITHIN_S
from spark_integration.sinks.records import records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import pyarrow as pa
    from confluent_kafka import KafkaError, Message, Producer

    from spark_integration.sinks.records import Record

WAIT_S = 1.0
SLACK_S = 60.0
"""What librdkafka may take beyond its own limit; its timers and a last request have their own."""


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
    from confluent_kafka import KafkaException, Producer  # noqa: PLC0415 - this runs on executors

    failures = _Failures()
    producer = Producer({**config, "delivery.report.only.error": True, "on_delivery": failures})
    try:
        delivery = _Delivery(producer, failures, _patience_s(config))
        delivery.run((records(batch, counts, topic, computed_for) for batch in chain([first], filled)), topic)
    finally:
        # Not left to the garbage collector: a worker that Spark uses again would go on connecting.
        # Closing would wait without end for what is still queued.
        if not len(producer):
            with suppress(KafkaException, SystemError):  # the broker has had its word on every record
                producer.close()


def _patience_s(config: Mapping[str, str]) -> float:
    """How long librdkafka may take to say of a record that it was acknowledged or not."""
    limit_ms = config.get("delivery.timeout.ms", config.get("message.timeout.ms", "300000"))
    return float(limit_ms) / 1000 + SLACK_S if float(limit_ms) else math.inf


class _Delivery:
    """Hands records to a producer and waits for the broker's word on each."""

    def __init__(self, producer: Producer, failures: _Failures, patience_s: float) -> None:
        self._producer = producer
        self._failures = failures
        self._patience_s = patience_s

    def run(self, batches: Iterable[Iterable[Record]], topic: str | None) -> None:
        """All of them; what is still queued when one cannot be delivered is dropped."""
        from confluent_kafka import KafkaException  # noqa: PLC0415 - as above

        producer = self._producer
        try:
            # Connected, an idempotent producer gets its id at once; if not, it tries again in 500 ms.
            producer.list_topics(topic, timeout=ANSWER_WITHIN_S)
            for batch in batches:
                for record in batch:
                    name, value, key, partition, timestamp, headers = record
                    try:
                        producer.produce(name, value, key, partition, timestamp=timestamp, headers=headers)
                    except BufferError:
                        self._produce_once_there_is_room(record)
                producer.poll(0)
                self._failures.check()
            since = time.monotonic()
            while self._wait(producer.flush, since):
                pass
        except BaseException as error:
            cause = _unhidden(error)
            producer.purge()
            try:
                producer.flush(WAIT_S)
            except (KafkaException, SystemError) as fatal:
                # The next call of the producer tells, whichever it is; records fail for this reason, too.
                if isinstance(cause, KafkaException | DeliveryError):
                    cause = _unhidden(fatal)
            if isinstance(cause, KafkaException):
                raise DeliveryError(f"a record could not be produced: {_said(cause.args[0])}") from cause
            raise

    def _produce_once_there_is_room(self, record: Record) -> None:
        topic, value, key, partition, timestamp, headers = record
        since = time.monotonic()
        while True:
            self._wait(self._producer.poll, since)
            try:
                self._producer.produce(topic, value, key, partition, timestamp=timestamp, headers=headers)
            except BufferError:
                continue
            return

    def _wait(self, wait: Callable[[float], int], since: float) -> int:
        """What a short wait gives, unless a record failed or waiting since then took too long.

        librdkafka gives records up in time, but has been seen, once, never to do so after a broker went away.
        """
        result = wait(WAIT_S)
        self._failures.check()
        if (left := len(self._producer)) and time.monotonic() - since > self._patience_s:
            raise DeliveryError(
                f"{left} records were neither acknowledged nor given up within "
                f"{self._patience_s:g} s, although 'delivery.timeout.ms' is over: is the broker gone?"
            )
        return result


def _unhidden(error: BaseException) -> BaseException | None:
    """The error itself; Python hides one that is raised while failed records are reported."""
    return error.__cause__ if isinstance(error, SystemError) else error


def _said(error: KafkaError) -> str:
    """What librdkafka says, and what it means where that is hard to guess."""
    text: str = error.str()
    if error.code() == error.CLUSTER_AUTHORIZATION_FAILED:
        text += (
            ". This user may write to no topic, so the cluster refuses it an idempotent producer: "
            "give it the permission to write"
        )
    return text
