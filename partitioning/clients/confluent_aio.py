"""An asyncio producer of confluent-kafka that places records with a partitioner of this package."""

from __future__ import annotations

import asyncio
import math
from functools import partial
from typing import Any

from partitioning.errors import MissingDependencyError
from partitioning.kit.packages import install_command

try:
    from confluent_kafka import KafkaException
    from confluent_kafka.aio import AIOProducer
except ImportError as missing:
    raise MissingDependencyError(
        "PartitioningAIOProducer needs a confluent-kafka that has confluent_kafka.aio: "
        f"install it with: {install_command('kafka')} --upgrade"
    ) from missing

from asyncio import Future
from collections.abc import Mapping

from confluent_kafka import KafkaError, Message

from partitioning.clients.confluent import PRODUCERS
from partitioning.clients.contact import machine_faults
from partitioning.clients.delivery import TAKEN_ALONG, Deliveries, describe_error
from partitioning.clients.java_settings import librdkafka_security
from partitioning.clients.placing import check_explicit
from partitioning.clients.topics import ANY_PARTITION, Ask, Topics, encode_text
from partitioning.errors import DeliveryError
from partitioning.interface import Partitioner

_PRUNE_AT = 1000


class PartitioningAIOProducer(AIOProducer):
    """A `confluent_kafka.aio.AIOProducer` that places records by any strategy.

    A record's explicit partition has precedence. The partition count of a topic is asked for at its first
    record, without blocking the event loop, and again after `topic.metadata.refresh.interval.ms`. So new
    partitions are used after that time at the latest. After librdkafka has reported that a partition is gone,
    the count is asked for at once.

    Each future that `produce` returns ends, even after a fatal error; then `flush`, `close` and the end of
    `async with` raise a DeliveryError. No call waits forever: they also raise one if librdkafka is silent for
    a minute after `delivery.timeout.ms`.

    Args:
        producer_conf: librdkafka's configuration, without its `partitioner`. Security settings may have the
            names of Java's clients, such as `sasl.jaas.config`.
        partitioner: a strategy, or the registered name of a strategy or profile.
        max_block_ms: the milliseconds to wait for a topic to appear and for a broker to return its
            partitions.
        options: further arguments of the base, such as `batch_size` and `buffer_timeout`.

    Raises:
        MissingDependencyError: confluent-kafka is missing or too old (when this module is imported).
        InvalidConfigError: `producer_conf` has librdkafka's `partitioner`, which would have no effect, an
            invalid time, or a security setting of Java's clients that has no counterpart in librdkafka.
        UnknownStrategyError: no strategy or profile has this name.
    """

    def __init__(
        self,
        producer_conf: Mapping[str, Any],
        *,
        partitioner: str | Partitioner = "default",
        max_block_ms: float = 5000,
        **options: Any,
    ) -> None:
        producer_conf = librdkafka_security(producer_conf)
        self._topics = Topics(producer_conf, partitioner, max_block_ms)
        self._deliveries = Deliveries(producer_conf)
        self._taken_along = 0
        self._futures: list[Future[Message]] = []
        self._prune_at = _PRUNE_AT
        with machine_faults():
            super().__init__({**producer_conf, **self._topics.hashing}, **options)
        PRODUCERS.add(self)

    async def produce(
        self,
        topic: str,
        value: str | bytes | None = None,
        key: str | bytes | None = None,
        partition: int = ANY_PARTITION,
    ) -> Future[Message]:
        """Buffer a record for sending, as the base does.

        It accepts no headers, timestamp or delivery callback. The base (2.16) refuses headers, fails the
        whole batch for a timestamp, and never calls a callback.

        Returns:
            A future of the delivered message. It raises a KafkaException if the record was not acknowledged.

        Raises:
            UnknownTopicError: the cluster has no such topic, or this user may not see it.
            BrokerUnreachableError: no broker returned the topic's partitions in time.
            DeliveryError: this process was forked from the producer's.
            MisplacedRecordError: the strategy chose a partition that the topic does not have, or `partition`
                is not an integer.
        """
        current = None
        if partition != ANY_PARTITION:
            check_explicit(topic, partition)
        elif not (key and topic in self._topics.hashed):
            # A known topic is placed in this thread. For an unknown topic, the cluster is asked in another
            # thread, because waiting for the answer would block the event loop.
            ask = self._from_another_thread()
            current = self._topics.known_topic(topic, ask)
            if current is None:
                current = await asyncio.to_thread(self._topics.meet, topic, ask)
            key, value = encode_text(key), encode_text(value)
            partition = current.place(key)
            current.note_sent(partition, key, value)
        future: Future[Message] = await super().produce(topic, value, key, partition=partition)
        if current is not None:  # if librdkafka placed the record, its errors do not concern our layout
            future.add_done_callback(partial(self._on_resolved, topic))
        self._futures.append(future)
        # The limit grows with the number of open futures, so on average each future is examined only a few
        # times.
        if len(self._futures) >= self._prune_at:
            self._prune()
        return future

    def _on_resolved(self, topic: str, future: Future[Message]) -> None:
        """Have the layout asked for again if a record failed because its topic or partition is gone."""
        if (error := _error_of(future)) is not None:
            self._topics.on_error(topic, error)

    def _prune(self) -> None:
        """Drop futures that have ended, and count those that a fatal error ended."""
        ended = [future for future in self._futures if future.done()]
        self._futures = [future for future in self._futures if not future.done()]
        self._prune_at = _PRUNE_AT + 2 * len(self._futures)
        errors = filter(None, map(_error_of, ended))
        self._taken_along += sum(error.code() in TAKEN_ALONG for error in errors)

    async def flush(self, timeout: float = -1) -> int:
        """Wait until every record was sent, as the base does.

        Raises:
            DeliveryError: a fatal error made records fail, whose futures raise an error, too; or librdkafka
                reported neither success nor failure of some records in time.
        """
        self._deliveries.refuse_forked()
        loop, flush = asyncio.get_running_loop(), super().flush
        self._prune()
        # Records that are produced while this waits belong to the next flush.
        waiting = [*self._futures]

        def drain() -> int:
            *_, left = self._deliveries.waits(
                lambda seconds: asyncio.run_coroutine_threadsafe(flush(seconds), loop).result(),
                self.__len__,
                math.inf if timeout < 0 else timeout,
            )
            return left

        left = await asyncio.to_thread(drain)
        await asyncio.sleep(0)  # let reports reach their futures
        if left:
            return left
        # If the report of a record arrives together with a fatal error, it never reaches the record's future.
        cut_off = [future for future in waiting if not future.done()]
        self._prune()
        # Reset the count, so that the next flush reports only later records.
        taken_along, self._taken_along = self._taken_along, 0
        fatal = self._deliveries.fatal
        for future in cut_off:
            future.set_exception(fatal or DeliveryError("a fatal error cut off the report of this record"))
        self._futures = [future for future in self._futures if not future.done()]
        if fatal is not None and (lost := taken_along + len(cut_off)):
            why = describe_error(fatal.args[0])
            raise DeliveryError(f"{lost} records were not acknowledged; the first: {why}") from fatal
        return 0

    async def close(self) -> None:
        """Flush and end the producer, as the base does.

        Raises:
            DeliveryError: as in `flush`.
        """
        self._deliveries.refuse_forked()
        try:
            await self.flush()
        except DeliveryError:
            await self.purge()
            raise
        finally:
            await super().close()

    def _from_another_thread(self) -> Ask:
        """Return a function that asks for a topic's metadata, to be called in another thread.

        The function asks in the event loop, and only the thread that calls the function waits for the answer.
        """
        loop = asyncio.get_running_loop()

        def ask(name: str, within_s: float) -> Any:
            return asyncio.run_coroutine_threadsafe(self.list_topics(name, within_s), loop).result()

        return ask


def _error_of(future: Future[Message]) -> KafkaError | None:
    """Return the Kafka error that a future ended with; None if it has none or is open."""
    # `exception()` would mark the error as retrieved. Then asyncio would no longer log an error that the
    # caller never retrieves.
    error = future._exception  # noqa: SLF001
    return error.args[0] if isinstance(error, KafkaException) else None
