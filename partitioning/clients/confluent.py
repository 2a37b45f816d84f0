"""Producers of confluent-kafka that place records with a partitioner of this package."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

from partitioning.errors import DeliveryError
from partitioning.kit.packages import needs

with needs("PartitioningProducer", "kafka"):
    from confluent_kafka import KafkaException, Producer, SerializingProducer

from collections.abc import Mapping
from types import TracebackType
from weakref import WeakSet

from partitioning.clients.contact import machine_faults
from partitioning.clients.delivery import WAIT_S, Deliveries
from partitioning.clients.java_settings import librdkafka_security
from partitioning.clients.placing import check_explicit
from partitioning.clients.topics import ANY_PARTITION, ClientTopic, Topics, encode_text
from partitioning.interface import Partitioner

if TYPE_CHECKING:
    from confluent_kafka._types import DeliveryCallback, HeadersType

PRODUCERS: WeakSet[Any] = WeakSet()
"""All partitioning producers of this process, including those of asyncio."""
_produce = Producer.produce  # calling it through `super()` would take a fifth longer


class PartitioningProducer(Producer):
    """A `confluent_kafka.Producer` that places records by any strategy.

    It does all that its base does, with three differences:

    - The strategy places each record without an explicit partition. If librdkafka has the strategy's hash,
      librdkafka itself places keyed records, with the partition count that it knows.
    - `produce()` may block for `max_block_ms` at the first record of a topic, and again after librdkafka has
      reported that the topic or a partition is gone. Otherwise partition counts are refreshed in the
      background after `topic.metadata.refresh.interval.ms`; the old ones are used until brokers answer.
    - A record without a delivery callback (neither its own nor `on_delivery` in the configuration) is not
      lost unnoticed. `poll`, `flush`, `close` and the end of a `with` block raise a DeliveryError if such
      records were not acknowledged, except for those that the caller purged or aborted. No call waits
      forever: if librdkafka is silent for a minute after `delivery.timeout.ms`, `flush` raises a
      DeliveryError, and so do `close` and the end of `with`, which purge the records first. In a forked
      process these calls raise one at once.

    >>> from partitioning.testing import MockCluster
    >>> places = []
    >>> with MockCluster() as cluster:
    ...     cluster.create_topic("orders", 12)
    ...     settings = {"bootstrap.servers": cluster.bootstrap_servers}
    ...     with PartitioningProducer(settings, partitioner="java") as producer:
    ...         told = lambda error, message: places.append(message.partition())
    ...         producer.produce("orders", key=b"order-43", on_delivery=told)
    >>> places == [partition_for_key(b"order-43", 12)]
    True

    Args:
        config: librdkafka's configuration, without its `partitioner`. Security settings may have the names of
            Java's clients, such as `sasl.jaas.config`.
        partitioner: a strategy, or the registered name of a strategy or profile.
        max_block_ms: the milliseconds to wait for a topic to appear and for a broker to return its
            partitions.

    Raises:
        MissingDependencyError: confluent-kafka is missing (when this module is imported).
        InvalidConfigError: `config` has librdkafka's `partitioner`, which would have no effect, an invalid
            time, or a security setting of Java's clients that has no counterpart in librdkafka.
        UnknownStrategyError: no strategy or profile has this name.
    """

    # A slot is read faster than an attribute in the instance's dict, and `_hashed` is read for each record.
    __slots__ = ("__dict__", "__weakref__", "_hashed")

    def __init__(
        self,
        config: Mapping[str, Any],
        *,
        partitioner: str | Partitioner = "default",
        max_block_ms: float = 5000,
    ) -> None:
        # All checks of the configuration come first, because the constructor of the base starts threads.
        config = librdkafka_security(config)
        self._topics = Topics(config, partitioner, max_block_ms)
        self._deliveries = Deliveries(config, "records without a delivery callback")
        self._hashed = self._topics.hashed
        self._watched: tuple[DeliveryCallback | None, DeliveryCallback | None] = None, None
        on_delivery = self._deliveries.watch(self._topics.on_error, config.get("on_delivery"))
        with machine_faults():
            super().__init__({**config, **self._topics.hashing, "on_delivery": on_delivery})
        PRODUCERS.add(self)

    def produce(
        self,
        topic: str,
        value: str | bytes | None = None,
        key: str | bytes | None = None,
        partition: int = ANY_PARTITION,
        callback: DeliveryCallback | None = None,
        on_delivery: DeliveryCallback | None = None,
        timestamp: int = 0,
        headers: HeadersType | None = None,
    ) -> None:
        """Queue a record for sending, as the base does.

        Raises:
            UnknownTopicError: the cluster has no such topic, or this user may not see it.
            BrokerUnreachableError: no broker returned the topic's partitions in time.
            DeliveryError: this process was forked from the producer's.
            MisplacedRecordError: the strategy chose a partition that the topic does not have, or `partition`
                is not an integer.
            BufferError: the queue is full: call `poll()`, then try again.
            KafkaException: librdkafka refuses the record.
        """
        current = None
        if partition != ANY_PARTITION:
            check_explicit(topic, partition)
        elif not (key and topic in self._hashed):
            current = self._current_topic(topic)
            partition = current.place(encode_text(key))
        own = on_delivery or callback
        try:
            # Each argument costs time in C for each record, so the usual call passes as few as possible.
            if own is None and headers is None and not timestamp:
                _produce(self, topic, value, key, partition)
            else:
                watcher = own and self._watcher(own)
                _produce(self, topic, value, key, partition, watcher, None, timestamp, headers)
        except KafkaException as error:
            # librdkafka refuses a record at once if its partition is gone. Then the layout is asked for again
            # at the next record.
            self._topics.on_error(topic, error.args[0])
            raise
        # Only a record that was queued counts, because a refused one fills no batch.
        if current is not None:
            current.note_sent(partition, encode_text(key), encode_text(value))

    def produce_batch(
        self,
        topic: str,
        messages: list[dict[str, Any]],
        partition: int = ANY_PARTITION,
        callback: DeliveryCallback | None = None,
        on_delivery: DeliveryCallback | None = None,
    ) -> int:
        """Queue many records without headers, each as `produce` would.

        The base puts all records of a call into one partition, so its method is called once for each
        partition. The `partition` of a record has precedence over that of the call.

        Returns:
            The number of records that were queued. Each of the others has the reason in its `_error`.

        Raises:
            UnknownTopicError: as in `produce`, before any record is queued.
            BrokerUnreachableError: as in `produce`, before any record is queued.
            MisplacedRecordError: as in `produce`, before any record is queued.
        """
        # There is one list for each partition, so records of a partition keep the order of `messages`.
        groups: dict[int, list[dict[str, Any]]] = {}
        for message in messages:
            chosen = message.get("partition", partition)
            if chosen == ANY_PARTITION:
                key = encode_text(message.get("key"))
                current = self._current_topic(topic)
                chosen = current.place(key)
                current.note_sent(chosen, key, encode_text(message.get("value")))
            else:
                check_explicit(topic, chosen)
            groups.setdefault(chosen, []).append(message)
        own = on_delivery or callback
        watcher = self._watcher(own) if own else None
        return sum(
            super(PartitioningProducer, self).produce_batch(topic, group, chosen, on_delivery=watcher)
            for chosen, group in groups.items()
        )

    def _watcher(self, own: DeliveryCallback) -> DeliveryCallback:
        """Return a delivery callback that calls the caller's own callback; the last result is cached."""
        # A watcher is a closure. To make one for each record would take longer than to place the record.
        last, watcher = self._watched
        if watcher is None or own != last:
            watcher = self._deliveries.watch(self._topics.on_error, own)
            self._watched = own, watcher
        return watcher

    def _current_topic(self, topic: str) -> ClientTopic:
        """Return the topic with its state; ask the cluster for its layout if it is unknown."""
        return self._topics.current(topic, self._metadata)

    def _metadata(self, topic: str, within_s: float) -> Any:
        """Return librdkafka's metadata of one topic.

        Raises:
            DeliveryError: this process was forked from the producer's, where the call would never return.
        """
        self._deliveries.refuse_forked()
        return self.list_topics(topic, within_s)

    def poll(self, timeout: float = -1) -> int:
        """Serve delivery reports, as the base does.

        Raises:
            DeliveryError: records without a delivery callback were not acknowledged, or this process was
                forked from the producer's.
            KafkaException: a fatal error occurred, and all records that failed with it have callbacks.
        """
        self._deliveries.refuse_forked()
        # The base raises a fatal error between two delivery reports, so the other reports are served first.
        served = self._deliveries.serve(super().poll, timeout)
        if self._deliveries.fatal is not None:
            self._drain()
        self._check()
        return served

    def flush(self, timeout: float = -1) -> int:
        """Wait until every record was sent, as the base does.

        Raises:
            DeliveryError: records without a delivery callback were not acknowledged, or librdkafka reported
                neither success nor failure of some records in time.
            KafkaException: as in `poll`.
        """
        self._deliveries.refuse_forked()
        *_, left = self._deliveries.waits(super().flush, self.__len__, math.inf if timeout < 0 else timeout)
        self._check()
        return left

    def close(self) -> bool:
        """Flush and end the producer, as the base does.

        Raises:
            DeliveryError: as in `flush`. Records without a report are lost.
            KafkaException: as in `poll`.
        """
        self._deliveries.refuse_forked()
        silent = None
        try:
            self._drain()
        except DeliveryError as error:
            # The brokers are silent. A purge makes a report for each record that is left, so that every such
            # record is counted once.
            silent = error
            self.purge()
            self._drain(WAIT_S)
        self._topics.close()
        close = super().close
        if not len(self):  # with records left, the base would wait forever
            self._deliveries.serve(lambda _: close(), 0)
        self._check(silent)
        return True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except (DeliveryError, KafkaException):
            # An error inside the `with` block has precedence: an error of `close` must not hide it.
            if error is None:
                raise

    def _drain(self, within_s: float = math.inf) -> None:
        """Serve delivery reports until no record is outstanding, or the time is over."""
        if len(self):  # a closed producer has no records, and must not be called
            for _ in self._deliveries.waits(super().flush, self.__len__, within_s):
                pass

    def _check(self, given_up: DeliveryError | None = None) -> None:
        """Raise if records without a delivery callback were lost since the last call."""
        self._deliveries.check(outstanding=len(self), given_up=given_up)


class _PlacingBase(PartitioningProducer):
    """The base of `PartitioningSerializingProducer`; its constructor takes only a configuration."""

    _settings: Mapping[str, Any]

    # SerializingProducer calls this in its own `__init__`, and passes only the configuration. So `_settings`
    # must be set before.
    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__(config, **self._settings)


class PartitioningSerializingProducer(SerializingProducer, _PlacingBase):  # type: ignore[misc] # its `produce`
    """A `confluent_kafka.SerializingProducer` that places records by any strategy.

    It serializes as its base does, which confluent-kafka calls experimental, and places records by the bytes
    of the serialized key. Everything else is as in `PartitioningProducer`. As in the base, `produce_batch`
    takes keys and values that are serialized already.

    Args:
        conf: librdkafka's configuration, without its `partitioner`, and the base's own settings, such as
            "key.serializer".
        partitioner: a strategy, or the registered name of a strategy or profile.
        max_block_ms: the milliseconds to wait for a topic to appear and for a broker to return its
            partitions.

    Raises:
        MissingDependencyError: confluent-kafka is missing (when this module is imported).
        InvalidConfigError: `conf` has librdkafka's `partitioner`, which would have no effect, or an invalid
            time.
        UnknownStrategyError: no strategy or profile has this name.
    """

    def __init__(
        self,
        conf: Mapping[str, Any],
        *,
        partitioner: str | Partitioner = "default",
        max_block_ms: float = 5000,
    ) -> None:
        self._settings = {"partitioner": partitioner, "max_block_ms": max_block_ms}
        super().__init__(dict(conf))

    # With SerializingProducer's own method, an error of `close` would hide one inside the `with` block.
    __exit__ = PartitioningProducer.__exit__


def _refuse_records() -> None:
    """Make each producer of the parent process refuse records; called in a forked process."""
    for producer in PRODUCERS:
        refuse = producer._deliveries.refuse_forked  # noqa: SLF001 - of these modules
        # Attributes of the instance replace the methods of the class. So no check is needed for each record,
        # and the parent process loses no time.
        vars(producer).update(produce=refuse, produce_batch=refuse)


# A forked child has librdkafka's queue but none of its threads, so records would stay there without an error.
os.register_at_fork(after_in_child=_refuse_records)
